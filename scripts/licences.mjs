// Whether every dependency has a licence that this project can live with. What Rust and the page's own libraries bring is
// part of the product; npm's other packages are tools, of which nothing is given away.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const PRODUCT = new Set([
  '0BSD',
  'Apache-2.0',
  'Apache-2.0 WITH LLVM-exception',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unicode-3.0',
  'Unlicense',
  'Zlib',
]);
const TOOLS = new Set([...PRODUCT, 'BlueOak-1.0.0', 'CC-BY-4.0', 'CC0-1.0', 'MPL-2.0', 'PSF-2.0', 'Python-2.0']);

/**
 * Whether an SPDX expression can be met with the allowed licences: one side of each OR, both of each AND.
 * @param {string} expression
 * @param {Set<string>} allowed
 */
export function isMet(expression, allowed) {
  // The slash is an old way to write OR.
  const words = expression.replace(/\s*\/\s*/g, ' OR ').match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0;
  /** @returns {boolean} */
  const one = () => {
    if (words[at] === '(') {
      at += 1;
      const inside = any();
      at += 1;
      return inside;
    }
    let name = words[at++] ?? '';
    if (words[at] === 'WITH') {
      name += ` WITH ${words[at + 1]}`;
      at += 2;
    }
    return allowed.has(name);
  };
  /** @returns {boolean} */
  const all = () => {
    let met = one();
    while (words[at] === 'AND') {
      at += 1;
      met = one() && met;
    }
    return met;
  };
  /** @returns {boolean} */
  const any = () => {
    let met = all();
    while (words[at] === 'OR') {
      at += 1;
      met = all() || met;
    }
    return met;
  };
  return words.length > 0 && any() && at === words.length;
}

function check() {
  const lists = ['metadata', '--format-version', '1', '--locked', '--all-features'];
  const told = execFileSync('cargo', lists, { encoding: 'utf8', maxBuffer: 1 << 28 });
  /** @type {{ name: string, version: string, license: string | null }[]} */
  const crates = JSON.parse(told).packages;
  /** @type {Record<string, { version: string, license?: string }>} */
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;
  const inPage = /^node_modules\/(preact|d3-hierarchy|uplot)$/;
  /** @type {[string, string | null | undefined, Set<string>][]} */
  const all = [
    ...crates.map(
      (c) => /** @type {[string, string | null, Set<string>]} */ ([`${c.name} ${c.version}`, c.license, PRODUCT]),
    ),
    ...Object.entries(lock)
      .filter(([path]) => path !== '')
      .map(
        ([path, p]) =>
          /** @type {[string, string | undefined, Set<string>]} */ ([
            `${path} ${p.version}`,
            p.license,
            inPage.test(path) ? PRODUCT : TOOLS,
          ]),
      ),
  ];
  const wrong = all.filter(([, licence, allowed]) => !isMet(licence ?? '', allowed));
  for (const [name, licence] of wrong) {
    console.error(`${name}: ${licence ?? 'no licence named'}`);
  }
  if (wrong.length > 0) {
    console.error('licences: see the list in scripts/licences.mjs; a new one needs a look first');
    process.exit(1);
  }
  console.log(`licences: ${all.length} dependencies, all allowed`);
}

if (process.argv[1]?.endsWith('licences.mjs')) {
  check();
}
