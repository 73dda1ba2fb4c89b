// Runs the page's tests. A browser on a busy machine can be late for reasons of its own, so the few tests that fail are
// run once more, alone, and those that pass then are named: such a test has a race in it that wants to be found.
// OOMSCOPE_SLOWER=8 slows the page down, which finds most of them.
//   node scripts/page-tests.mjs [files]
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { root } from './page.mjs';

/** As many failures are no accident. */
const ACCIDENTS = 3;

const folder = join(root, 'tests/page');
const named = process.argv.slice(2);
const files =
  named.length > 0
    ? named
    : readdirSync(folder)
        .filter((f) => f.endsWith('.test.mjs'))
        .map((f) => join(folder, f));

/**
 * The tests that failed, each with its file.
 * @param {string[]} files
 * @param {RegExp[]} [names] only these
 * @returns {Promise<{ file: string, name: string }[]>}
 */
function failures(files, names = []) {
  return new Promise((resolve, reject) => {
    /** @type {{ file: string, name: string }[]} */
    const failed = [];
    const tests = run({ files, testNamePatterns: names });
    tests.on('test:fail', ({ file = '', name }) => failed.push({ file, name }));
    tests.on('end', () => resolve(failed));
    tests.on('error', reject);
    tests.compose(new spec()).pipe(process.stdout, { end: false });
  });
}

const exact = (/** @type {string} */ name) => new RegExp(`^${name.replace(/[^\w\s]/g, '\\$&')}$`);

const failed = await failures(files);
let broken = failed.length > 0;
if (broken && failed.length <= ACCIDENTS) {
  console.log('\nonce more, alone:');
  // A file that stopped by itself fails under its own name: then all of its tests are run again.
  const stopped = failed.some((f) => f.name.endsWith('.mjs'));
  const names = stopped ? [] : failed.map((f) => exact(f.name));
  const again = await failures([...new Set(failed.map((f) => f.file))], names);
  for (const { name } of failed)
    if (!again.some((f) => f.name === name)) console.log(`PASSED ONLY AT THE SECOND TRY: ${name}`);
  broken = again.length > 0;
}
process.exitCode = broken ? 1 : 0;
