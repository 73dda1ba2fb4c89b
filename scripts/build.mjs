// Makes index.html: one file with the core, the worker, the script and the style inside, that asks for nothing.
//   node scripts/build.mjs            all of it
//   node scripts/build.mjs --view     the core is taken as pkg/ has it: quick, for work on the view
//   node scripts/build.mjs --missing  only where index.html is missing or older than its sources
//   node scripts/build.mjs --out F    to another file
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';
import { metaOf, page, policyOf, root, sourcesHash, stripped } from './page.mjs';

const { values: flags } = parseArgs({
  options: { view: { type: 'boolean' }, missing: { type: 'boolean' }, out: { type: 'string', default: page } },
});
const sources = sourcesHash();
const { version, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
// Where the page is hosted, for copies of it that lie elsewhere: the workflows know it.
const home = process.env.OOMSCOPE_HOME ?? homepage ?? '';
if (home !== '' && !/^https:\/\/[\w./-]+$/.test(home)) throw new Error(`OOMSCOPE_HOME is no https address: ${home}`);

if (flags.missing && existsSync(flags.out)) {
  const there = readFileSync(flags.out, 'utf8');
  if (metaOf(there, 'sources') === sources && metaOf(there, 'home') === home) {
    console.log(`${flags.out} is up to date`);
    process.exit(0);
  }
}

if (!flags.view) {
  console.log('building the core for WebAssembly (a minute or two the first time)');
  execFileSync(join(root, 'scripts/wasm.sh'), { stdio: ['ignore', 'inherit', 'inherit'] });
}

/**
 * One bundled, minified text.
 * @param {string} entry
 * @param {esbuild.BuildOptions} options
 */
async function bundle(entry, options = {}) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    target: ['chrome109', 'firefox115', 'safari16.4'],
    // In place of tsconfig.json, which the type checker goes by.
    tsconfigRaw: {
      compilerOptions: {
        jsx: 'react',
        jsxFactory: 'makeElement',
        jsxFragmentFactory: 'makeFragment',
        target: 'ES2022',
      },
    },
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    // In glue for loading the core over the network, which is then left out.
    logOverride: { 'empty-import-meta': 'silent' },
    ...options,
  });
  const text = outputFiles?.[0]?.text.trim() ?? '';
  // Either would end the element that the text stands in, or change how its end is found.
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${entry}: its bundle cannot stand inside an HTML element`);
  return text;
}

/**
 * Packed by xz, as www/worker/lzma.ts unpacks it: a fifth smaller than by gzip.
 * @param {Uint8Array} bytes
 */
function lzma(bytes) {
  const options = ['--stdout', '--format=lzma', '--lzma1=preset=9e,lc=3,lp=0,pb=0'];
  const packed = execFileSync('xz', options, { input: bytes, maxBuffer: 1 << 30 });
  // xz leaves the length open; the page wants to know it.
  packed.writeBigUInt64LE(BigInt(bytes.length), 5);
  return packed;
}

const read = (/** @type {string} */ file) => readFileSync(join(root, file), 'utf8');
const script = await bundle('www/main.ts', { format: 'esm', inject: ['www/jsx.ts'] });
const worker = await bundle('www/worker/main.ts', { format: 'iife' });
const style = await bundle('www/app/style.css');
const wasm = stripped(readFileSync(join(root, 'pkg/oomscope_bg.wasm')));
const packed = lzma(wasm);

/** @type {Record<string, string>} */
const parts = {
  policy: `<meta http-equiv="Content-Security-Policy" content="${policyOf(script, style)}">`,
  version,
  home,
  sources,
  tools: read('pkg/tools.txt').trim(),
  style: `<style>${style}</style>`,
  body: read('www/app/body.html').trim(),
  // Packed, then written as text, which a server's own packing undoes.
  engine: packed.toString('base64'),
  worker,
  script: `<script type="module">${script}</script>`,
};
const html = read('www/shell.html').replace(/\{\{(\w+)\}\}/g, (_, name) => {
  const part = parts[name];
  if (part === undefined) throw new Error(`www/shell.html: nothing is called ${name}`);
  return part;
});

writeFileSync(`${flags.out}.tmp`, html);
renameSync(`${flags.out}.tmp`, flags.out);

const kib = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1)} kB`;
console.log(`${flags.out}: ${kib(Buffer.byteLength(html))}, ${kib(gzipSync(html, { level: 9 }).length)} gzipped`);
console.log(
  `  core ${kib(wasm.length)}, ${kib(packed.length)} packed; script ${kib(script.length)}, worker ${kib(worker.length)}, style ${kib(style.length)}`,
);
