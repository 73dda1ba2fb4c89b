// Writes the tables of docs/benchmarks.md from the raw runs that the benchmarks left in benches/results/.
//   node scripts/benchmarks.mjs
//   node scripts/benchmarks.mjs --check   whether they are written
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './page.mjs';

/** @typedef {{ file: string, bytes: number, ours: number[], cores?: number[], floor?: number[], memory?: number, browser?: string, frame?: number,
 *   whole_decode?: number[], whole_decode_memory?: number, xprof?: number | null }} Row */

const median = (/** @type {number[]} */ values) => values.slice().sort((a, b) => a - b)[values.length >> 1];
const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
const ms = (/** @type {number | undefined} */ time) => (time === undefined ? '–' : `${time.toFixed(0)} ms`);
const all = (/** @type {number[] | undefined} */ times) =>
  times?.length ? times.map((time) => time.toFixed(0)).join(', ') : '–';

/**
 * @param {string} head
 * @param {string[][]} rows
 */
function table(head, rows) {
  const columns = head.split(' | ').length;
  return [`| ${head} |`, `|${'---|'.repeat(columns)}`, ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}

/**
 * @param {Row[]} rows
 * @param {boolean} page
 */
function tables(rows, page) {
  const name = (/** @type {Row} */ row) => [...(page ? [row.browser ?? ''] : []), row.file];
  const first = page ? 'browser | file' : 'file';
  const summary = rows.map((row) => {
    const [ours, floor] = [median(row.ours), median(row.floor ?? [])];
    return [
      ...name(row),
      mb(row.bytes),
      ms(floor),
      ms(ours),
      ours && floor ? (ours / floor).toFixed(2) : '–',
      ...(page ? [] : [ms(median(row.cores ?? []))]),
      row.memory === undefined ? '–' : mb(row.memory),
      ...(page
        ? [ms(row.frame)]
        : [
            row.whole_decode?.length ? `${ms(median(row.whole_decode))}, ${mb(row.whole_decode_memory ?? 0)}` : '–',
            ms(row.xprof ?? undefined),
          ]),
    ];
  });
  const raw = rows.map((row) => [...name(row), all(row.floor), all(row.ours), ...(page ? [] : [all(row.cores)])]);
  return [
    table(
      `${first} | size | floor | ours | ratio | ${page ? '' : 'all cores | '}memory | ${page ? 'longest frame' : 'whole decode | XProf'}`,
      summary,
    ),
    'All runs, in milliseconds, in the order in which they ran:',
    table(`${first} | floor | ours${page ? '' : ' | all cores'}`, raw),
  ].join('\n\n');
}

const path = join(root, 'docs/benchmarks.md');
const kept = readFileSync(path, 'utf8');
let text = kept;
for (const name of ['native', 'page']) {
  const file = join(root, `benches/results/${name}.json`);
  if (!existsSync(file)) continue;
  const { machine, results } = JSON.parse(readFileSync(file, 'utf8'));
  const between = `<!-- ${name} -->\n${machine}.\n\n${tables(results, name === 'page')}\n<!-- end of ${name} -->`;
  text = text.replace(new RegExp(`<!-- ${name} -->[^]*<!-- end of ${name} -->`), () => between);
}
if (process.argv.includes('--check')) {
  if (text !== kept) {
    console.error('docs/benchmarks.md is not what benches/results says: node scripts/benchmarks.mjs');
    process.exit(1);
  }
} else {
  writeFileSync(path, text);
}
