// What the page's one file is made of, and how: shared by the build, the checks and the tests.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** The page. */
export const page = join(root, 'index.html');

/** Everything whose change can change the page. */
const SOURCES = [
  'Cargo.lock',
  'Cargo.toml',
  'build.rs',
  'package-lock.json',
  'package.json',
  'proto',
  'scripts/build.mjs',
  'scripts/env.sh',
  'scripts/page.mjs',
  'scripts/wasm.sh',
  'src',
  'www',
];

/**
 * The files below a path of the project, in the order of their names.
 * @param {string} path
 * @returns {string[]}
 */
function filesBelow(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesBelow(`${path}/${name}`));
}

/** A hash over the sources: the page carries the one it was made from. */
export function sourcesHash() {
  const hash = createHash('sha256');
  for (const file of SOURCES.flatMap(filesBelow)) {
    const bytes = readFileSync(join(root, file));
    hash.update(`${file}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex').slice(0, 32);
}

/**
 * What a built page says of itself in `<meta name="oomscope-…">`.
 * @param {string} html
 * @param {'version' | 'home' | 'sources' | 'built-with'} name
 */
export function metaOf(html, name) {
  return new RegExp(`<meta name="oomscope-${name}" content="([^"]*)">`).exec(html)?.[1] ?? null;
}

/**
 * A source of a Content-Security-Policy that allows exactly this text.
 * @param {string} text
 */
export function policyHash(text) {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

/**
 * The policy: the page's own script and style, WebAssembly, workers from its own memory, and no connection at all.
 * @param {string} script
 * @param {string} style
 */
export function policyOf(script, style) {
  return [
    "default-src 'none'",
    `script-src ${policyHash(script)} 'wasm-unsafe-eval'`,
    `style-src ${policyHash(style)}`,
    'worker-src blob:',
    'img-src data:',
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/**
 * WebAssembly without the custom sections that only debuggers read.
 * @param {Uint8Array} wasm
 */
export function stripped(wasm) {
  const kept = [wasm.subarray(0, 8)];
  let at = 8;
  while (at < wasm.length) {
    const start = at;
    const id = wasm[at++];
    let size = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = wasm[at++] ?? 0;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    at += size;
    if (id !== 0) kept.push(wasm.subarray(start, at));
  }
  return Buffer.concat(kept);
}
