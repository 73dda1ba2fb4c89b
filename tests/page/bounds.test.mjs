// What the page does where the browser or the disk lets it down.
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { choose, closeBrowser, inWorkers, openPage, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

/** @param {import('playwright-core').Page} page */
const seen = (page) => page.locator('body').innerText();

test('the empty state is painted and usable while the core is not there yet', async () => {
  // No worker ever answers.
  const { page, context } = await openPage({ init: inWorkers('globalThis.postMessage = () => {};') });
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'empty');
  assert.match(await seen(page), /oomscope/);
  assert.ok(await page.getByLabel('Choose captures').isEnabled());
  await context.close();
});

test('the worker reads its samples until there is a file, and no more then', async () => {
  const capture = sharedFile('captures/public/cpu-exla-2024.xplane.pb');
  if (!capture) return;
  // Its clock stands still: but for a file it would go on for ever.
  const counting = `performance.now = () => 0;
    globalThis.finished = 0;
    const { Instance } = WebAssembly;
    WebAssembly.Instance = function (...given) {
      const exports = { ...new Instance(...given).exports };
      const { opening_finish } = exports;
      exports.opening_finish = (...its) => {
        globalThis.finished++;
        return opening_finish(...its);
      };
      return { exports };
    };`;
  const { page, context, complaints } = await openPage({ init: inWorkers(counting) });
  /** How many files the page's workers have read. */
  const finished = async () => {
    const counts = page.workers().map((worker) => worker.evaluate('globalThis.finished').catch(() => 0));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
  while ((await finished()) < 5) await page.waitForTimeout(20);
  await choose(page, capture);
  await untilState(page, 'done');
  const then = await finished();
  await page.waitForTimeout(300);
  assert.equal(await finished(), then);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a browser that runs no WebAssembly is told so', async () => {
  const capture = sharedFile('captures/public/cpu-exla-2024.xplane.pb');
  if (!capture) return;
  const { page, context } = await openPage({ init: inWorkers('delete globalThis.WebAssembly;') });
  await choose(page, capture);
  await untilState(page, 'error');
  assert.match(await seen(page), /this browser runs no WebAssembly/);
  await context.close();
});

test('a file that is gone when it is read gets a sentence', async () => {
  const capture = sharedFile('captures/public/cpu-exla-2024.xplane.pb');
  if (!capture) return;
  const folder = mkdtempSync(join(tmpdir(), 'oomscope-'));
  const file = join(folder, 'gone.xplane.pb');
  copyFileSync(capture, file);
  const { page, context } = await openPage();
  // The page holds the file before it goes.
  await page.evaluate(() => {
    const input = document.createElement('input');
    input.type = 'file';
    input.id = 'aside';
    document.body.append(input);
  });
  const aside = page.locator('#aside');
  await aside.setInputFiles(file);
  assert.ok(await aside.evaluate((input) => /** @type {HTMLInputElement} */ (input).files?.[0]?.size));
  rmSync(folder, { recursive: true });
  await page.evaluate(() => {
    const chooser = Array.from(document.querySelectorAll('input')).find(
      (input) => input.type === 'file' && input.id !== 'aside' && !input.webkitdirectory,
    );
    const aside = /** @type {HTMLInputElement} */ (document.querySelector('#aside'));
    if (!chooser) throw new Error('no file chooser');
    chooser.files = aside.files;
    chooser.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await untilState(page, 'error');
  assert.match(await seen(page), /moved, changed or locked since it was chosen: choose it again/);
  await context.close();
});
