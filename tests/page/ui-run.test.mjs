// The run view: bytes over time by owner, what is live at a moment, executions and waits; and a hundred thousand events.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, openPage, sharedFile, slower, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

/** @param {string | ReturnType<typeof asFile>} file @param {string} [init] */
async function openRun(file, init = '') {
  const opened = await openPage({ hash: '#view=run', context: { viewport: { width: 1440, height: 1000 } }, init });
  await choose(opened.page, typeof file === 'string' ? file : [file]);
  await untilState(opened.page, 'done');
  await opened.page.getByRole('slider').waitFor();
  return opened;
}

test('gradients kept: the bands add up to what is in use, and the peak has its owners', async () => {
  const file = sharedFile('scenarios/s2_gradients_kept.xplane.pb');
  if (!file) return;
  const { page, context, complaints } = await openRun(file);
  const slider = page.getByRole('slider', { name: 'Bytes in use in GPU_0_bfc over time' });
  assert.match((await slider.getAttribute('aria-valuetext')) ?? '', /: 1\.68 GiB \(/);
  await page.getByLabel('exact bytes').check();
  const facts = await page.locator('.facts').innerText();
  assert.match(facts, /Capacity\s+2,995,781,632 B/);
  assert.match(facts, /In use at the start\s+331,258,368 B/);
  assert.match(facts, /Peak\s+1,801,822,976 B/);
  assert.match(facts, /In use at the end\s+1,421,479,680 B/);
  // The table of the moment: its rows are all that is in use.
  const rows = await page
    .getByRole('table', { name: /^Arrays live at/ })
    .locator('tbody tr')
    .allInnerTexts();
  const bytes = rows.map((r) => Number((/([\d,]+) B/.exec(r)?.[1] ?? '0').replaceAll(',', '')));
  assert.equal(
    bytes.reduce((a, b) => a + b, 0),
    1_801_822_976,
  );
  assert.ok(
    rows.some((r) => /before the capture/.test(r) && /331,258,368/.test(r)),
    rows.join('\n'),
  );
  // Every point of the chart is the sum of its bands.
  await page.getByText('The chart as a table').click();
  for (const row of await page.locator('.as-text tbody tr').allInnerTexts()) {
    const [, total, ...columns] = row.split('\t').map((t) => Number(t.replace(/[^\d]/g, '')));
    // The last column is the largest free chunk.
    const bands = columns.slice(0, -1);
    assert.equal(
      bands.reduce((a, b) => a + b, 0),
      total,
      row,
    );
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test('executions: ten, each starting with more in use; one of them zooms the chart', async () => {
  const file = sharedFile('scenarios/s2_gradients_kept.xplane.pb');
  if (!file) return;
  const { page, context } = await openRun(file);
  await page.getByLabel('exact bytes').check();
  const rows = page.getByRole('table', { name: 'Executions in order of their start' }).locator('tbody tr');
  assert.equal(await rows.count(), 10);
  const first = await rows.first().innerText();
  assert.match(first, /jit_grad_step\(17\)/);
  assert.match(first, /331,266,560 B/);
  assert.match(first, /ran$/);
  await rows.nth(4).getByRole('cell').nth(1).click();
  await page.waitForFunction(() => location.hash.includes('focus=execution.4'));
  await page.locator('.strip').waitFor();
  await context.close();
});

test('keys walk from event to event; the live table follows', async () => {
  const file = sharedFile('scenarios/s2_gradients_kept.xplane.pb');
  if (!file) return;
  const { page, context } = await openRun(file);
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('Home');
  const said = await slider.getAttribute('aria-valuetext');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(
    (old) => document.querySelector('[role=slider]')?.getAttribute('aria-valuetext') !== old,
    said,
  );
  await page.keyboard.press('End');
  await page.waitForFunction(() => /in use/.test(document.querySelector('.run-columns')?.textContent ?? ''));
  await page.keyboard.press('+');
  await page.locator('.strip').waitFor();
  await page.keyboard.press('0');
  await page.locator('.strip').waitFor({ state: 'hidden' });
  await context.close();
});

test('a wait that failed stands in its lane and in its table, with what was missing', async () => {
  const file = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!file) return;
  const { page, context } = await openRun(file);
  const wait = page.getByRole('table', { name: 'Waits of the allocator' }).locator('tbody tr');
  assert.equal(await wait.count(), 1);
  assert.match(await wait.innerText(), /10\.00 s[\s\S]*failed[\s\S]*3\.41 GiB[\s\S]*2 of 3 obtained/);
  await context.close();
});

/** Keeps what was last painted on the chart: words, boxes and level lines, by their places. */
const WATCH = `{
  const { clearRect, fillText, strokeRect, lineTo } = CanvasRenderingContext2D.prototype;
  Object.assign(CanvasRenderingContext2D.prototype, {
    clearRect(...at) {
      if (this.canvas === document.querySelector('.chart-box canvas')) globalThis.painted = { words: [], boxes: [], lines: [] };
      clearRect.apply(this, at);
    },
    fillText(text, ...at) {
      if (globalThis.painted && text) painted.words.push(text);
      fillText.call(this, text, ...at);
    },
    strokeRect(...at) {
      if (globalThis.painted && this.canvas === document.querySelector('.chart-box canvas')) painted.boxes.push(at);
      strokeRect.apply(this, at);
    },
    lineTo(...at) {
      if (globalThis.painted && this.lineWidth === 1.5) painted.lines.push(at);
      lineTo.apply(this, at);
    },
  });
}`;

/**
 * @param {import('playwright-core').Page} page
 * @returns {Promise<{ words: string[], boxes: number[][], lines: number[][] }>}
 */
const painted = (page) => page.evaluate('painted');

test('a failure is in the picture: pool, card, what was refused to scale, and the moments before it', async () => {
  const file = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!file) return;
  const { page, context } = await openRun(file, WATCH);
  assert.ok(await page.getByLabel(/as high as the pool/).isChecked());
  const { words, boxes, lines } = await painted(page);
  for (const word of ['pool 2.79 GiB', 'card 3.72 GiB', '3.41 GiB refused', 'the wait goes on, 10.00 s in all →'])
    assert.ok(words.includes(word), `${word} is not among ${words.join(', ')}`);
  // What was refused stands on the 324,604,672 bytes in use and sticks out of the pool. The border lies inside.
  const [[, top = 0, , height = 0] = []] = boxes;
  const perByte = (height + 2) / 3_666_631_960;
  const foot = top + height + 1;
  const poolAt = foot - (2_995_781_632 - 324_604_672) * perByte;
  const cardAt = foot - (3_994_375_510 - 324_604_672) * perByte;
  for (const level of [poolAt, cardAt])
    assert.ok(
      lines.some(([, y = 0]) => Math.abs(y - level) < 1.5),
      `no level at ${level}: ${JSON.stringify(lines)}`,
    );
  // Ten seconds of waiting leave the half millisecond before them its room.
  const seconds = words.filter((w) => /^[\d.,]+ s$/.test(w));
  assert.deepEqual(seconds, []);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.locator('.strip').waitFor({ state: 'hidden' });
  const all = (await painted(page)).words;
  assert.ok(all.includes('10 s') && !all.some((w) => w.includes('goes on')), all.join(', '));
  // What is looked at first is the moment of the wait.
  assert.match(await page.locator('.run-columns h2').first().innerText(), /^Live at 49\.5 ms/);
  await context.close();
});

test('where free memory lies in pieces, the largest of them is drawn and read out', async () => {
  const file = sharedFile('scenarios/s6_fragmentation.xplane.pb');
  if (!file) return;
  const { page, context, complaints } = await openRun(file);
  const slider = page.getByRole('slider', { name: 'Bytes in use in GPU_0_bfc over time' });
  // At the wait: 1.83 GiB are free, and no chunk of them holds the 405.92 MiB that were asked for.
  assert.match(
    (await slider.getAttribute('aria-valuetext')) ?? '',
    /: 984\.23 MiB .*, largest free chunk 150\.00 MiB$/,
  );
  assert.match(await page.locator('.reading').innerText(), /largest free chunk\s+150\.00 MiB/);
  await page.getByText('The chart as a table').click();
  assert.match((await page.locator('.as-text thead').innerText()) ?? '', /largest free chunk/);
  const drawn = await page
    .locator('.chart-box canvas')
    .first()
    .evaluate((canvas) => {
      // The dashes lie on the free ground above what is in use: on the line there are both of their inks.
      const c = /** @type {HTMLCanvasElement} */ (canvas);
      const ctx = /** @type {CanvasRenderingContext2D} */ (c.getContext('2d'));
      const from = Math.round(c.width * 0.5);
      const { data, width, height } = ctx.getImageData(from, 0, 40, c.height);
      const seen = new Set();
      for (let x = 0; x < width; x++) {
        let column = '';
        for (let y = 0; y < height; y++) column += `${data[(y * width + x) * 4]} `;
        seen.add(column);
      }
      return seen.size;
    });
  assert.ok(drawn >= 2, 'dashes and gaps');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('what a TPU has reserved for loaded programs is drawn on top of what is in use', async () => {
  const file = sharedFile('captures/public/tpu-v6e-inference.xplane.pb');
  if (!file) return;
  const { page, context, complaints } = await openRun(file);
  await page.getByRole('slider').press('End');
  await page.waitForFunction(() =>
    /reserved for loaded programs\s*20\.0\d GiB/.test(document.querySelector('.reading')?.textContent ?? ''),
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a wait that ended well is drawn with what it waited for; where nothing was short, levels far off stand at the edge', async () => {
  const waited = sharedFile('scenarios/s8_retry_rescued.xplane.pb');
  const far = sharedFile('captures/public/rocm-mi355x-fused-attn.xplane.pb');
  if (!waited || !far) return;
  const { page, context } = await openRun(waited, WATCH);
  const { words } = await painted(page);
  assert.ok(
    words.includes('405.92 MiB waited for') && words.includes('the wait goes on, 1.30 s in all →'),
    words.join(),
  );
  await choose(page, far);
  await page.getByRole('link', { name: 'Run', exact: true }).click();
  await page.getByRole('slider').waitFor();
  const pool = page.getByLabel(/as high as the pool/);
  assert.equal(await pool.isChecked(), false);
  const names = (await painted(page)).words;
  assert.ok(names.includes('pool 279.34 GiB ↑') && names.includes('card 287.98 GiB ↑'), names.join());
  // 15 ms of work after 9.7 s of nothing.
  assert.ok(names.includes('9,720 ms'), names.join());
  await pool.check();
  const high = (await painted(page)).words;
  assert.ok(high.includes('pool 279.34 GiB') && high.includes('card 287.98 GiB'), high.join());
  await context.close();
});

test('without events of an allocator nobody knows what an execution asked for', async () => {
  const file = sharedFile('captures/made/cpu-jax0.12.0-gpt_plain.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage({ hash: '#view=run' });
  await choose(page, file);
  const table = page.getByRole('table', { name: 'Executions in order of their start' });
  await table.waitFor();
  const heads = (await table.getByRole('columnheader').allInnerTexts()).map((t) => t.trim());
  const asked = table.locator(`tbody tr > :nth-child(${heads.indexOf('Obtained') + 1})`);
  assert.deepEqual([...new Set(await asked.allTextContents())], ['–not in the capture']);
  await context.close();
});

test('eight devices: each has its allocator, host memory stands apart', async () => {
  const file = sharedFile('scenarios/s4_fsdp8_fits.xplane.pb');
  if (!file) return;
  const { page, context } = await openRun(file);
  const options = await page.getByLabel('allocator').locator('option').allInnerTexts();
  assert.equal(options.filter((o) => /^GPU_\d_bfc/.test(o)).length, 8);
  assert.ok(options.some((o) => o.startsWith('xla_gpu_host_bfc')));
  await page.getByLabel('allocator').selectOption({ index: options.findIndex((o) => o.startsWith('GPU_5')) });
  await page.getByRole('slider', { name: 'Bytes in use in GPU_5_bfc over time' }).waitFor();
  await context.close();
});

test('a hundred thousand events: zoom, pan and reading stay fluid', async () => {
  const { page, context } = await openRun(asFile('big.xplane.pb', capture({ pairs: 50_000 })));
  /** Milliseconds of script for one gesture, the median of many. */
  const cost = await page.evaluate(async () => {
    const over = document.querySelector('.chart-box .over');
    const box = over?.getBoundingClientRect();
    if (!over || !box) return null;
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    /** @param {(i: number) => void} act */
    const median = async (act) => {
      const times = [];
      for (let i = 0; i < 15; i++) {
        await frame();
        const start = performance.now();
        act(i);
        // The next frame's callbacks run after what the gesture caused has been drawn.
        await new Promise((done) => setTimeout(done));
        times.push(performance.now() - start);
      }
      return times.sort((a, b) => a - b)[7] ?? 0;
    };
    const at = (/** @type {number} */ i) => ({
      clientX: box.left + 100 + i * 60,
      clientY: box.top + 100,
      bubbles: true,
    });
    return {
      read: await median((i) =>
        over.dispatchEvent(new PointerEvent('pointermove', { ...at(i), pointerType: 'mouse' })),
      ),
      zoom: await median((i) =>
        over.dispatchEvent(
          new WheelEvent('wheel', { ...at(7), deltaY: i % 2 ? 80 : -120, ctrlKey: true, cancelable: true }),
        ),
      ),
      pan: await median((i) =>
        over.dispatchEvent(new WheelEvent('wheel', { ...at(7), deltaX: i % 2 ? 80 : -120, cancelable: true })),
      ),
    };
  });
  assert.ok(cost);
  console.log(`milliseconds a gesture: ${JSON.stringify(cost)}`);
  // A frame has 16; a loaded machine with a drawing in software gets room.
  for (const [gesture, ms] of Object.entries(cost)) assert.ok(ms < 100 * slower, `${gesture}: ${ms} ms`);
  await context.close();
});

test('touch: a tap chooses, a finger pans, two zoom', async () => {
  const file = sharedFile('scenarios/s2_gradients_kept.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage({
    hash: '#view=run',
    context: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  await choose(page, file);
  await untilState(page, 'done');
  const slider = page.getByRole('slider');
  await slider.scrollIntoViewIfNeeded();
  const box = await slider.boundingBox();
  assert.ok(box);
  const before = await slider.getAttribute('aria-valuetext');
  await page.touchscreen.tap(box.x + box.width * 0.3, box.y + 150);
  await page.waitForFunction(
    (old) => document.querySelector('[role=slider]')?.getAttribute('aria-valuetext') !== old,
    before,
  );
  const session = await context.newCDPSession(page);
  /** @param {'touchStart' | 'touchMove' | 'touchEnd'} type @param {number[]} xs */
  const touch = (type, xs) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: xs.map((x, id) => ({ x: box.x + x, y: box.y + 150, id })),
    });
  await touch('touchStart', [150, 210]);
  for (const d of [20, 40, 60]) await touch('touchMove', [150 - d, 210 + d]);
  await touch('touchEnd', []);
  await page.locator('.strip').waitFor();
  await context.close();
});

test('what was obtained is no more than that, and how each is known', async () => {
  const file = sharedFile('captures/made/synthetic-a_plan_oom_big_attn.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage({ hash: '#view=run' });
  await page.getByLabel('Choose captures').setInputFiles(file);
  await untilState(page, 'done');
  const waits = page.getByRole('table', { name: 'Waits of the allocator' });
  assert.match((await waits.innerText()).replace(/\s+/g, ' '), /temp block \(2 of 3 obtained\) inferred .* measured/);
  const executions = page.getByRole('table', { name: 'Executions in order of their start' });
  assert.match(await executions.innerText(), /Obtained[\s\S]*1\.25 KiB/);
  // Its error is nought.
  assert.match(await page.getByRole('main').innerText(), /largest chunk 5\.42 GiB/);
  await page.getByRole('navigation').getByRole('link', { name: 'Capture' }).click();
  await page.getByText('is analysed: its last execution failed').waitFor();
  await context.close();
});
