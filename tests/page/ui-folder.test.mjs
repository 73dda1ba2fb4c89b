// Folders: dropped and chosen, on a page from the disk and from a server, with what beside captures lies in them.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { closeBrowser, dropFromDisk, openPage, untilState } from './harness.mjs';
import { capture } from './made.mjs';

let place = '';
let folder = '';

before(() => {
  place = mkdtempSync(join(tmpdir(), 'oomscope-'));
  folder = join(place, 'log');
  const run = join(folder, 'plugins/profile/2026_01_01');
  mkdirSync(run, { recursive: true });
  const made = (/** @type {string} */ host) =>
    capture({
      host,
      module: 'jit_step',
      buffers: [{ name: 'mul.1', opName: 'jit(step)/jvp(m)/mul', file: '/a/b.py', elements: 1 << 20 }],
    });
  writeFileSync(join(run, 'host-a.xplane.pb'), made('host-a'));
  writeFileSync(join(run, 'host-b.xplane.pb.gz'), gzipSync(made('host-b')));
  writeFileSync(join(run, 'host-a.trace.json.gz'), gzipSync('{"displayTimeUnit":"ns","traceEvents":[]}'));
  writeFileSync(join(run, 'notes.pdf'), '%PDF-1.7');
});

after(async () => {
  rmSync(place, { recursive: true, force: true });
  await closeBrowser();
});

/** @param {import('playwright-core').Page} page */
async function bothAreRead(page) {
  await untilState(page, 'done');
  await page.getByRole('heading', { name: '2 captures, 2 devices' }).waitFor();
  const main = await page.getByRole('main').innerText();
  assert.match(main, /log\/plugins\/profile\/2026_01_01\/host-a\.xplane\.pb/);
  assert.match(main, /host-b\.xplane\.pb/);
  // What else a run folder holds is no failure, and is named all the same.
  assert.equal(await page.locator('.item-error').count(), 0);
  await page.getByText('2 other files passed over').click();
  const over = await page.locator('.passed-over').innerText();
  assert.match(over, /host-a\.trace\.json\.gz/);
  assert.match(over, /notes\.pdf.*PDF/);
}

for (const from of /** @type {const} */ (['file', 'localhost'])) {
  test(`a dropped folder is read to its depth, on a page from ${from}`, async () => {
    const { page, context, complaints } = await openPage({ from });
    await dropFromDisk(page, [folder]);
    await bothAreRead(page);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}

test('a chosen folder is read to its depth', async () => {
  const { page, context } = await openPage();
  await page.getByLabel('Choose a folder').setInputFiles(folder);
  await bothAreRead(page);
  await context.close();
});

test('a folder without a capture says of each file what it is', async () => {
  const { page, context } = await openPage();
  mkdirSync(join(place, 'papers'));
  writeFileSync(join(place, 'papers/a.pdf'), '%PDF-1.7');
  await dropFromDisk(page, [join(place, 'papers')]);
  await untilState(page, 'error');
  assert.match(await page.getByRole('main').innerText(), /papers\/a\.pdf[\s\S]*PDF/);
  await context.close();
});
