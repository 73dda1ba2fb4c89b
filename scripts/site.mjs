// Makes dist/site: the page, and the documentation beside it as plain HTML that works offline. A link that leads nowhere
// fails the build.
//   node scripts/site.mjs            after `npm run build`
//   node scripts/site.mjs --out DIR  to another folder
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Marked } from 'marked';
import { jsonReference } from './json-reference.mjs';
import { page, root } from './page.mjs';

const { values: flags } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist/site') } } });
const { out } = flags;

/** The pages in the order of the menu: file name and title; what else lies in docs/ comes after. */
const MENU = [
  ['capture', 'Taking a capture'],
  ['report', 'Reading the report'],
  ['findings', 'The findings'],
  ['roles', 'Roles and words'],
  ['evidence', 'Other evidence'],
  ['limits', 'What a capture cannot tell'],
  ['json', 'The JSON report'],
  ['checked', 'How the numbers were checked'],
  ['estimates', 'How fixes are estimated'],
  ['benchmarks', 'Benchmarks'],
  ['architecture', 'Architecture'],
  ['contributing', 'Contributing'],
  ['security', 'Security'],
  ['changelog', 'Changelog'],
];

const STYLE = `
:root { color-scheme: light dark; --text: #1c2024; --soft: #55606b; --line: #d5dbe1; --back: #fff; --code: #f2f4f7; --link: #0a58a8 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ec; --soft: #a3adb8; --line: #38414b; --back: #14181c; --code: #1f262d; --link: #7cb8f5 }
}
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--back) }
a { color: var(--link) }
header, main { max-width: 52rem; margin: 0 auto; padding: 1rem }
header { border-bottom: 1px solid var(--line) }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 0; padding: 0; list-style: none; font-size: .9rem }
nav a[aria-current] { font-weight: 600; color: inherit }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .75rem }
h1 { margin-top: 1rem }
code { font: .9em ui-monospace, monospace; background: var(--code); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere }
pre { background: var(--code); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto }
pre code { padding: 0; background: none }
pre code, td code { overflow-wrap: normal }
blockquote { margin: 1rem 0; padding: .1rem 1rem; border-left: 3px solid var(--line); color: var(--soft) }
.wide { overflow-x: auto }
.skip { position: absolute; left: -99rem }
.skip:focus { position: static }
table { border-collapse: collapse; font-size: .92rem; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line) }
img { max-width: 100% }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
`;

const escaped = (/** @type {string} */ text) =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/** The id of a heading, as GitHub makes it, so that the same links work in both places. */
const slug = (/** @type {string} */ text) =>
  text
    .toLowerCase()
    .replace(/<[^>]+>|[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

const marked = new Marked({
  gfm: true,
  renderer: {
    heading({ tokens, depth }) {
      const html = this.parser.parseInline(tokens);
      return `<h${depth} id="${slug(html)}">${html}</h${depth}>\n`;
    },
    table(token) {
      const cells = (/** @type {import('marked').Tokens.TableCell[]} */ row, /** @type {string} */ tag) =>
        row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('');
      const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n');
      return `<div class="wide"><table><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>\n${rows}\n</tbody></table></div>\n`;
    },
    link({ href, tokens }) {
      return `<a href="${escaped(local(href))}">${this.parser.parseInline(tokens)}</a>`;
    },
  },
});

/** Links between the Markdown pages, as links between the pages made from them. */
function local(/** @type {string} */ href) {
  const [, name, anchor] = /^(?:docs\/|\.\.\/)?([\w.-]+)\.md(#.*)?$/.exec(href) ?? [];
  return name === undefined ? href : `${name.toLowerCase()}.html${anchor ?? ''}`;
}

/**
 * One page.
 * @param {string} name
 * @param {string} title
 * @param {string} body
 */
function put(name, title, body) {
  const items = menu.map(([file, text]) => {
    const here = file === name ? ' aria-current="page"' : '';
    return `<li><a href="${file}.html"${here}>${escaped(text ?? '')}</a></li>`;
  });
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'">
<title>${escaped(title)} · oomscope</title>
<link rel="stylesheet" href="docs.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a href="../index.html"><strong>oomscope</strong></a> · documentation
<nav aria-label="Documentation"><ul>${items.join('')}</ul></nav></header>
<main id="content">
${body}</main>
</body>
</html>
`;
  made.set(`${name}.html`, html);
}

/** The pages by their file names. @type {Map<string, string>} */
const made = new Map();

/** Links that lead to no file beside the page, or to no heading in it. */
function dead() {
  const beside = new Set(['../index.html', ...readdirSync(join(out, 'docs')), ...made.keys()]);
  return [...made].flatMap(([from, html]) =>
    [...html.matchAll(/ (?:href|src)="([^"]*)"/g)]
      .map(([, to]) => to ?? '')
      .filter((to) => !/^https?:/.test(to))
      .filter((to) => {
        const [file, anchor] = to.split('#');
        const target = made.get(file || from);
        return !beside.has(file || from) || (anchor && !target?.includes(` id="${anchor}"`));
      })
      .map((to) => `${from}: ${to}`),
  );
}

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, 'docs'), { recursive: true });
cpSync(page, join(out, 'index.html'));
writeFileSync(join(out, 'docs', 'docs.css'), STYLE);

/** @type {Map<string, string>} */
const texts = new Map();
for (const file of readdirSync(join(root, 'docs')).sort()) {
  if (file.endsWith('.md')) texts.set(file.slice(0, -3), readFileSync(join(root, 'docs', file), 'utf8'));
  if (file.endsWith('.png')) cpSync(join(root, 'docs', file), join(out, 'docs', file));
}
const schemas = ['report.schema.json', 'summary.schema.json'];
for (const file of schemas) cpSync(join(root, 'docs', file), join(out, 'docs', file));
const [report, summary] = schemas.map((file) => JSON.parse(readFileSync(join(root, 'docs', file), 'utf8')));
texts.set('json', jsonReference(report, summary));
for (const name of ['CHANGELOG', 'SECURITY', 'CONTRIBUTING', 'ARCHITECTURE']) {
  if (existsSync(join(root, `${name}.md`)))
    texts.set(name.toLowerCase(), readFileSync(join(root, `${name}.md`), 'utf8'));
}

const titleOf = (/** @type {string} */ text) => /^# (.+)$/m.exec(text)?.[1] ?? 'oomscope';
const menu = [
  ...MENU.filter(([name]) => texts.has(name ?? '')),
  ...[...texts]
    .filter(([name]) => !MENU.some(([known]) => known === name))
    .map(([name, text]) => [name, titleOf(text)]),
];
for (const [name, text] of texts) put(name, titleOf(text), String(marked.parse(text)));
put(
  'index',
  'Documentation',
  `<h1>Documentation</h1>\n<ul>${menu.map(([file, text]) => `<li><a href="${file}.html">${escaped(text ?? '')}</a></li>`).join('')}</ul>\n`,
);
for (const [file, html] of made) writeFileSync(join(out, 'docs', file), html);
const wrong = dead();
if (wrong.length > 0) {
  console.error(`links of the documentation that lead nowhere:\n  ${wrong.join('\n  ')}`);
  process.exit(1);
}
console.log(`${relative(root, out)}: the page and ${texts.size} pages of documentation`);
