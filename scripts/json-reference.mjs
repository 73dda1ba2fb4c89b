// The reference of the JSON report, as Markdown, from its schema.

/** @typedef {{ $ref?: string, type?: string | string[], description?: string, properties?: Record<string, Schema>,
 *   items?: Schema, anyOf?: Schema[], oneOf?: Schema[], enum?: unknown[], const?: unknown,
 *   additionalProperties?: Schema | boolean, $defs?: Record<string, Schema>, title?: string }} Schema */

/**
 * @param {Schema} report
 * @param {Schema} summary
 * @returns {string}
 */
export function jsonReference(report, summary) {
  const definitions = { ...summary.$defs, ...report.$defs };
  const parts = [
    '# The JSON report\n',
    'One object a capture. `oomscope CAPTURE --json OUT` and the page’s download give the same bytes; several captures in one call give an array. Sizes are bytes, times picoseconds from the first event of the capture, ids and addresses strings. What the capture does not say is `null`, never 0. Keys may be added within version 1, none changes its meaning.\n',
    '`oomscope merge REPORT… --json OUT` gives a [Summary](#summary) of reports, which stands at the end of this page. Both have a JSON Schema, which this page is made from: [report.schema.json](report.schema.json), [summary.schema.json](summary.schema.json).\n',
    section('Report', report),
    ...Object.keys(definitions)
      .sort()
      .map((name) => section(name, definitions[name] ?? {})),
    section('Summary', summary),
  ];
  return parts.join('\n');
}

/**
 * @param {string} name
 * @param {Schema} schema
 */
function section(name, schema) {
  const lines = [`## ${name}\n`, `${text(schema.description)}\n`];
  if (schema.properties) {
    lines.push('| key | type | |', '|---|---|---|');
    for (const [key, value] of Object.entries(schema.properties)) {
      lines.push(`| \`${key}\` | ${typeOf(value)} | ${text(value.description)} |`);
    }
  } else {
    const values = (schema.oneOf ?? []).map((one) => `| \`${one.const}\` | ${text(one.description)} |`);
    if (values.length > 0) lines.push('| value | |', '|---|---|', ...values);
    else lines.push(`Type: ${typeOf(schema)}`);
  }
  return `${lines.join('\n')}\n`;
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (schema.$ref) {
    const name = schema.$ref.replace('#/$defs/', '');
    return `[${name}](#${name.toLowerCase()})`;
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'anything'}`;
  if (typeof schema.additionalProperties === 'object') return `map to ${typeOf(schema.additionalProperties)}`;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? 'anything'];
  return types.map((type) => (type === 'null' ? '`null`' : type)).join(' or ');
}

/** @param {string | undefined} description */
function text(description) {
  return (description ?? '').replace(/\s+/g, ' ').replace(/\|/g, '\\|');
}
