// The page before there is a capture: what it says, how files and text come in, and what a link may ask for.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { page as built } from '../../scripts/page.mjs';
import { browser, closeBrowser, drop, openPage, sharedFile, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

const plan = capture({ buffers: [{ name: 'mul.1', opName: 'jit(f)/jvp(g)/mul', file: '/a/b.py', elements: 1 << 20 }] });

test('the empty page says what it does, how to bring a capture, how to take one, and what stays here', async () => {
  const { page, context, complaints } = await openPage();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'empty');
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Why did JAX run out of memory?');
  assert.equal(await page.getByLabel('Choose captures').count(), 1);
  assert.equal(await page.getByLabel('Choose a folder').getAttribute('webkitdirectory'), '');
  assert.match(await page.getByRole('main').innerText(), /Your capture stays on this machine\..*connect-src 'none'/s);
  assert.match(await page.getByRole('main').innerText(), /with jax\.profiler\.trace\(/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('the snippet is copied whole', async () => {
  const { page, context } = await openPage({ context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByText('Copied').waitFor();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(text, /^import jax\n[\s\S]*jax\.block_until_ready\(state\)$/);
  await context.close();
});

test('what is seen before any script runs is the same page, in the same place', async () => {
  const { page, context } = await openPage();
  const still = await (await browser()).newContext({ javaScriptEnabled: false });
  const before = await still.newPage();
  await before.goto(`file://${built}`);
  for (const selector of ['.brand', 'h1', '.hero .lede', '.drop b', '.drop .button']) {
    const [a, b] = await Promise.all(
      [before, page].map(async (p) => (await p.locator(selector).first().boundingBox()) ?? { x: -1, y: -1 }),
    );
    assert.ok(a && b && Math.abs(a.x - b.x) < 2 && Math.abs(a.y - b.y) < 40, `${selector}: ${JSON.stringify([a, b])}`);
    assert.equal(await before.locator(selector).first().innerText(), await page.locator(selector).first().innerText());
  }
  await still.close();
  await context.close();
});

test('the page paints before the core is compiled', async () => {
  const context = await (await browser()).newContext();
  const page = await context.newPage();
  // A browser that never hands out a compiled core.
  await page.addInitScript(() => {
    Object.defineProperty(globalThis, 'Worker', {
      value: class {
        postMessage() {}
        terminate() {}
        addEventListener() {}
      },
    });
  });
  await page.goto(`file://${built}`);
  // Told when it happens: a paint is noted some time after the script could ask for it.
  const painted = await page.evaluate(
    () =>
      new Promise((resolve) => {
        new PerformanceObserver((paints) => {
          for (const paint of paints.getEntriesByName('first-contentful-paint')) resolve(paint.startTime);
        }).observe({ type: 'paint', buffered: true });
        setTimeout(resolve, 20_000, null);
      }),
  );
  assert.notEqual(painted, null);
  await page.getByLabel('Choose captures').waitFor({ state: 'attached' });
  await context.close();
});

test('a drop anywhere is read, and the whole window shows that it would be', async () => {
  const { page, context } = await openPage();
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['x'], 'a.xplane.pb'));
    document.body.dispatchEvent(new DragEvent('dragenter', { dataTransfer: transfer, bubbles: true }));
  });
  const over = page.getByText('Drop to read');
  await over.waitFor();
  const box = await over.locator('xpath=../..').boundingBox();
  const size = page.viewportSize();
  assert.ok(box && size && box.width >= size.width && box.height >= size.height);
  await page.evaluate(() => document.body.dispatchEvent(new DragEvent('dragleave', { bubbles: true })));
  await over.waitFor({ state: 'detached' });
  await drop(page, [{ name: 'made.xplane.pb', bytes: plan }]);
  await untilState(page, 'done');
  assert.match(await page.getByRole('main').innerText(), /jit_made\(17\)/);
  await context.close();
});

test('a pasted file is read', async () => {
  const { page, context } = await openPage();
  await page.evaluate((base64) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    transfer.items.add(new File([bytes], 'pasted.xplane.pb'));
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true }));
  }, plan.toString('base64'));
  await untilState(page, 'done');
  assert.match(await page.locator('header').innerText(), /pasted\.xplane\.pb/);
  await context.close();
});

const ERROR =
  'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3666631960 bytes.';

for (const way of /** @type {const} */ (['pasted anywhere', 'typed into the box'])) {
  test(`the text of a failure ${way} is read`, async () => {
    const { page, context } = await openPage();
    if (way === 'pasted anywhere') {
      await page.evaluate((text) => {
        const transfer = new DataTransfer();
        transfer.setData('text/plain', text);
        document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true }));
      }, ERROR);
    } else {
      await page.getByText('Paste the error text instead').click();
      await page.getByLabel(/RESOURCE_EXHAUSTED message/).fill(ERROR);
      await page.getByRole('button', { name: 'Read the text' }).click();
    }
    await untilState(page, 'done');
    assert.match(await page.getByRole('main').innerText(), /3\.41 GiB/);
    await context.close();
  });
}

test('three samples are at hand, and each of them opens', async () => {
  const { page, context } = await openPage();
  const samples = page.locator('.samples button');
  await samples.first().waitFor();
  assert.equal(await samples.count(), 3);
  for (let i = 0; i < 3; i++) {
    await samples.nth(i).click();
    await untilState(page, 'done');
    assert.notEqual(await page.getByRole('heading', { level: 1 }).innerText(), '');
    await page.getByText('More', { exact: true }).click();
    await page.getByRole('button', { name: 'Close the capture' }).click();
    await untilState(page, 'empty');
  }
  await context.close();
});

test('a link asks for a view before its capture is there, and gets it', async () => {
  const file = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage({ hash: '#view=plan&module=jit_negative%285%29' });
  assert.match(await page.getByRole('main').innerText(), /This link asks for module jit_negative\(5\), view “plan”/);
  await page.getByLabel('Choose captures').setInputFiles(file);
  await untilState(page, 'done');
  await page.getByRole('heading', { name: 'Plan of jit_negative(5)' }).waitFor();
  await context.close();
});

test('light and dark follow the system, and the switch', async () => {
  const { page, context } = await openPage({ context: { colorScheme: 'dark' } });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  await page.getByRole('button', { name: 'Theme: as the system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  const light = await ground();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await ground(), light);
  await page.getByRole('button', { name: 'Theme: light' }).click();
  assert.equal(await ground(), dark);
  await context.close();
});

test('a browser without the colours of the page is told so, and reads captures all the same', async () => {
  const { page, context } = await openPage();
  assert.equal(await page.locator('.too-old').isVisible(), false);
  await context.close();
  const place = mkdtempSync(join(tmpdir(), 'oomscope-'));
  // Such a browser knows no `light-dark()`; the policy would not let a changed style in.
  const html = readFileSync(built, 'utf8')
    .replaceAll('light-dark(', 'unknown(')
    .replace(/<meta http-equiv=.*?>/, '');
  writeFileSync(join(place, 'old.html'), html);
  const older = await (await browser()).newPage();
  await older.goto(`file://${place}/old.html`);
  assert.match(await older.locator('.too-old').innerText(), /Chrome or Edge 123, Firefox 120 and Safari 17\.5/);
  await older.getByLabel('Choose captures').setInputFiles([asFile('made.xplane.pb', plan)]);
  await untilState(older, 'done');
  assert.match(await older.getByRole('main').innerText(), /jit_made\(17\)/);
  await older.close();
  rmSync(place, { recursive: true });
});

test('a file of another kind is named, with what to bring instead', async () => {
  const { page, context } = await openPage();
  await page.getByLabel('Choose captures').setInputFiles([asFile('paper.pdf', Buffer.from('%PDF-1.7\n1 0 obj'))]);
  await untilState(page, 'error');
  assert.match(await page.getByRole('main').innerText(), /paper\.pdf[\s\S]*PDF/);
  // And the way on is there.
  await page.getByLabel('Choose captures').setInputFiles([asFile('made.xplane.pb', plan)]);
  await untilState(page, 'done');
  await context.close();
});

test('an opened sample stays marked as made up', async () => {
  const { page, context } = await openPage();
  await page.locator('.sample').first().click();
  await untilState(page, 'done');
  const mark = page.locator('header').getByText('Synthetic sample');
  await mark.waitFor();
  await page.emulateMedia({ media: 'print' });
  assert.equal(await mark.isVisible(), true);
  await context.close();
});
