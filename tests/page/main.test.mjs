// The main path: the built file, a real capture, the numbers on the screen, the saved report, and no request.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  choose,
  closeBrowser,
  commandLineJson,
  downloadJson,
  drop,
  openPage,
  sharedFile,
  untilState,
} from './harness.mjs';

after(closeBrowser);

const CAPTURE = 'captures/made/cpu-jax0.10.2-gpt_plain.xplane.pb';

/** Bytes as the page and the command line write them. @param {number} bytes */
const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(2)} MiB`;

for (const from of /** @type {const} */ (['file', 'localhost'])) {
  test(`from ${from}: a capture is read, shown and saved, and nothing is asked for`, async () => {
    const capture = sharedFile(CAPTURE);
    if (!capture) return;
    const { page, context, requests, complaints } = await openPage({ from });
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'empty');
    await choose(page, capture);
    await untilState(page, 'done', 'error');
    assert.equal(await page.evaluate(() => document.documentElement.dataset.state), 'done');

    const saved = await downloadJson(page);
    const written = commandLineJson(capture);
    assert.ok(saved.bytes.equals(written), 'the saved report is not what the command line writes');
    assert.match(saved.name, /\.json$/);

    const report = JSON.parse(written.toString());
    const module = report.modules.find((/** @type {{ name: string }} */ m) => m.name === report.module);
    const text = await page.locator('body').innerText();
    assert.ok(text.includes(report.verdict.sentence), 'the verdict is not on the first screen');
    assert.ok(text.includes(mib(module.spaces[0].need_bytes)), `need ${mib(module.spaces[0].need_bytes)} is not shown`);

    assert.deepEqual(requests, []);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}

test('dropped, plain or packed by gzip, it gives the same report', async () => {
  const capture = sharedFile(CAPTURE);
  if (!capture) return;
  const written = commandLineJson(capture);
  for (const file of [capture, { name: `${basename(capture)}.gz`, bytes: gzipSync(readFileSync(capture)) }]) {
    const { page, context } = await openPage();
    await drop(page, [file]);
    await untilState(page, 'done', 'error');
    const saved = await downloadJson(page);
    assert.ok(saved.bytes.equals(written));
    await context.close();
  }
});

test('an archive that is not unpacked says why', async () => {
  let nested = Buffer.from('x');
  for (let i = 0; i < 7; i++) nested = gzipSync(nested);
  const { page, context } = await openPage();
  await drop(page, [{ name: `host.xplane.pb${'.gz'.repeat(7)}`, bytes: nested }]);
  await untilState(page, 'error');
  const text = await page.locator('body').innerText();
  assert.match(text, /No capture is in it\. It lies in 5 archives, one inside the other; unpack it first\. A capture/);
  await context.close();
});

test('a gzip file that was cut off gives what is there, and the page says so', async () => {
  const capture = sharedFile(CAPTURE);
  if (!capture) return;
  const packed = gzipSync(readFileSync(capture));
  const { page, context } = await openPage({ hash: '#view=capture' });
  await drop(page, [{ name: 'cut.xplane.pb.gz', bytes: packed.subarray(0, packed.length * 0.9) }]);
  await untilState(page, 'done', 'error');
  const saved = JSON.parse((await downloadJson(page)).bytes.toString());
  assert.equal(saved.source.file, 'cut.xplane.pb');
  assert.ok(saved.modules.length > 0);
  const warned = saved.warnings.find((/** @type {{ code: string }} */ w) => w.code === 'archive-damaged');
  assert.match(warned.message, /^after .* the packed bytes end; what comes before was read/);
  const said = await page.locator('.passed-over').textContent();
  assert.match(said ?? '', /cut\.xplane\.pb.*the packed bytes end; what comes before was read/);
  await context.close();
});

test('what is no capture gets a sentence, and the page goes on', async () => {
  const capture = sharedFile(CAPTURE);
  if (!capture) return;
  const { page, context } = await openPage();
  await choose(page, [{ name: 'paper.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7 …') }]);
  await untilState(page, 'error');
  assert.match(await page.locator('body').innerText(), /PDF/);
  await choose(page, capture);
  await untilState(page, 'done');
  await context.close();
});
