// The main path in Firefox: the built file, from the disk and from localhost.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { addressOf, browserPath, closeBrowser, sharedFile } from './harness.mjs';

/** @type {Promise<import('puppeteer-core').Browser> | null} */
let launched = null;
const firefox = () => {
  launched ??= puppeteer.launch({ browser: 'firefox', executablePath: browserPath('firefox'), headless: true });
  return launched;
};

after(async () => {
  await (await launched)?.close();
  await closeBrowser();
});

for (const from of /** @type {const} */ (['file', 'localhost'])) {
  test(`from ${from}: a capture is read, and nothing is asked for`, async () => {
    const capture = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
    if (!capture) return;
    const page = await (await firefox()).newPage();
    const address = await addressOf(from);
    /** @type {string[]} */
    const requests = [];
    page.on('request', (request) => {
      if (request.url() !== address && !/^(blob|data):/.test(request.url())) requests.push(request.url());
    });
    await page.goto(address);
    const state = () => page.evaluate(() => document.documentElement.dataset.state);
    assert.equal(await state(), 'empty');
    const chooser = await page.evaluateHandle(() => {
      const inputs = Array.from(document.querySelectorAll('input'));
      const named = (/** @type {HTMLInputElement} */ input) =>
        input.ariaLabel ?? Array.from(input.labels ?? [], (label) => label.textContent).join();
      return inputs.find((input) => input.type === 'file' && named(input).includes('Choose captures')) ?? null;
    });
    const input = chooser.asElement();
    assert.ok(input, 'no file input labelled Choose captures');
    await /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (input).uploadFile(capture);
    await page.waitForFunction(() => ['done', 'error'].includes(document.documentElement.dataset.state ?? ''));
    assert.equal(await state(), 'done');
    const refused = await page.evaluate(async () => {
      const violation = new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
      });
      await fetch('http://127.0.0.1:9/').catch(() => {});
      return await violation;
    });
    assert.equal(refused, 'connect-src');
    assert.deepEqual(requests, []);
    await page.close();
  });
}
