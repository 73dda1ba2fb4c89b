// The plan view: curve, treemap and table of one moment, joined by what is chosen in any of them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, openPage, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

const S1 = 'scenarios/s1_plan_too_large.xplane.pb';

/** @param {string} file @param {import('playwright-core').BrowserContextOptions} [settings] */
async function openPlan(file, settings = {}) {
  const opened = await openPage({
    hash: '#view=plan',
    context: { viewport: { width: 1440, height: 1200 }, ...settings },
  });
  await opened.page.getByLabel('Choose captures').setInputFiles(file);
  await untilState(opened.page, 'done');
  await opened.page.getByRole('slider', { name: 'Bytes live over the schedule' }).waitFor();
  return opened;
}

/** The column of a table by its head. @param {import('playwright-core').Page} page @param {string} caption @param {string} head */
async function column(page, caption, head) {
  const table = page.getByRole('table', { name: caption });
  const heads = (await table.getByRole('columnheader').allInnerTexts()).map((t) => t.replace(/[▲▼\s]+$/, ''));
  const at = heads.indexOf(head);
  assert.notEqual(at, -1, `${head} is none of ${heads}`);
  return table.locator(`tbody tr:not(.details) > :nth-child(${at + 1})`).allInnerTexts();
}

const bytesOf = (/** @type {string} */ text) =>
  Number(
    text
      .replace(/^\+\s*/, '')
      .replaceAll(',', '')
      .replace(' B', ''),
  );

test('the peak is marked, with what is live there, to the byte', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context, complaints } = await openPlan(file);
  const main = page.getByRole('main');
  assert.match(await main.innerText(), /Heap peak 3\.41 GiB\s+read\s+at event 185 of 644/);
  await page.getByLabel('exact bytes').check();
  assert.match(await main.innerText(), /Heap peak 3,666,608,132 B/);
  const slider = page.getByRole('slider');
  assert.match(
    (await slider.getAttribute('aria-valuetext')) ?? '',
    /^event 185 of 644: 3\.72 GiB \(.*forward 2\.87 GiB/,
  );
  // The buffers of the peak and those that live throughout are the need, but for the loss of packing.
  const sizes = (await column(page, 'Buffers live at event 185 of 644', 'Together')).map(bytesOf);
  assert.equal(sizes[0], 6 * 268_435_456);
  await context.close();
  assert.deepEqual(complaints, []);
});

test('a peak of one event is drawn to its full height, in full colour, and the cursor leaves it open', async () => {
  const file = sharedFile('captures/made/synthetic-a_plan_oom_big_attn.xplane.pb');
  if (!file) return;
  const { page, context } = await openPlan(file);
  const column = await page.locator('.chart-box').evaluate((box) => {
    const [base, over] = /** @type {HTMLCanvasElement[]} */ ([...box.querySelectorAll('canvas')]);
    // Where the peak is: event 153 of 0 to 563, in a frame of 76 pixels on the left and 10 on the right.
    const x = Math.floor(76 + ((base?.width ?? 0) - 86) * (153 / 563));
    const dots = (/** @type {HTMLCanvasElement | undefined} */ c) => {
      const all = [...(c?.getContext('2d')?.getImageData(x, 26, 1, 280).data ?? [])];
      return Array.from({ length: 280 }, (_, i) => all.slice(4 * i, 4 * i + 4));
    };
    const isOrange = (/** @type {number[]} */ [r = 0, g = 0, b = 0]) => r > 200 && g > 110 && g < 150 && b < 60;
    const isBlue = (/** @type {number[]} */ [r = 0, g = 0, b = 0]) => r < 60 && g > 110 && b > 190;
    const seen = dots(base).map((d) => isOrange(d) || isBlue(d));
    const covered = dots(over).map(([, , , alpha = 0]) => alpha > 0);
    return {
      first: seen.indexOf(true),
      bare: seen.filter((s, i) => s && !covered[i]).length,
      all: seen.filter(Boolean).length,
    };
  });
  // 7.14 of the 7.56 GiB that the axis reaches: at most a few pixels below its top.
  assert.ok(column.first > 0 && column.first < 30, JSON.stringify(column));
  // The line of the pool and the marks at both ends lie over it, no more.
  assert.ok(column.all > 200 && column.all - column.bare < 12, JSON.stringify(column));
  await context.close();
});

test('forward values that are gone before the backward pass begins are not called kept', async () => {
  const file = sharedFile('captures/public/rocm-mi355x-fused-attn.xplane.pb');
  if (!file) return;
  const { page, context } = await openPlan(file);
  const caption = 'Buffers live at event 9 of 44';
  const roles = await column(page, caption, 'Role');
  const lives = await column(page, caption, 'Life');
  const forward = roles.flatMap((role, i) => (role.startsWith('forward') ? [`${lives[i]} ${role}`] : []));
  // The backward pass has its first value at event 12.
  assert.deepEqual(
    forward.map((t) => t.replace('\u00a0', ' ')),
    ['8–9 forward, not kept', '9–10 forward, not kept', '7–41 forward', '1–31 forward', '2–32 forward', '0–30 forward'],
  );
  await context.close();
});

test('keys move the moment, and the table follows', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('Home');
  await page.getByRole('heading', { name: 'Buffers live at event 0 of 644' }).waitFor();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('heading', { name: 'Buffers live at event 1 of 644' }).waitFor();
  await page.waitForFunction(() => location.hash.includes('event=1'));
  await page.keyboard.press('p');
  await page.getByRole('heading', { name: 'Buffers live at event 185 of 644, the peak' }).waitFor();
  await page.keyboard.press('End');
  await page.getByRole('heading', { name: 'Buffers live at event 643 of 644' }).waitFor();
  // What lives throughout is still there, of the temporaries next to nothing.
  await page.waitForFunction(() => document.querySelectorAll('.table-sum')[0]?.textContent?.includes('309.57 MiB'));
  await context.close();
});

test('a click on the curve chooses the moment, dragging zooms, double click shows all again', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  const box = await page.getByRole('slider').boundingBox();
  assert.ok(box);
  await page.mouse.click(box.x + box.width * 0.8, box.y + box.height * 0.5);
  await page.getByRole('heading', { name: /Buffers live at event (4|5)\d\d of 644/ }).waitFor();
  const strip = page.locator('.strip');
  assert.equal(await strip.isVisible(), false);
  await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 100, { steps: 4 });
  await page.mouse.up();
  await strip.waitFor();
  await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 100);
  await strip.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await strip.waitFor();
  await context.close();
});

test('treemap, table and curve choose together', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  const cell = page.getByRole('option', { name: /^f32\[8,8,1024,1024\] ×6 1\.50 GiB, forward/ });
  await cell.click();
  assert.equal(await cell.getAttribute('aria-selected'), 'true');
  assert.match(await page.locator('tr.selected').innerText(), /f32\[8,8,1024,1024\]/);
  // And the other way round: the row of the logits chooses their cell.
  await page
    .getByRole('row', { name: /f32\[8192,17800\]/ })
    .getByRole('cell')
    .nth(1)
    .click();
  assert.equal(await cell.getAttribute('aria-selected'), 'false');
  assert.match((await page.locator('.cell.chosen').getAttribute('aria-label')) ?? '', /^f32\[8192,17800\]/);
  // By keyboard: one stop, arrows from cell to cell.
  await page.locator('.cell.chosen').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() =>
    document.activeElement?.getAttribute('aria-label')?.startsWith('f32[8,8,1024,1024]'),
  );
  assert.match(await page.locator('tr.selected').innerText(), /f32\[8,8,1024,1024\]/);
  await context.close();
});

test('the table sorts, filters and opens', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  const caption = 'Buffers live at event 185 of 644';
  await page.getByLabel('exact bytes').check();
  const down = (await column(page, caption, 'Together')).map(bytesOf);
  assert.deepEqual(
    down,
    [...down].sort((a, b) => b - a),
  );
  const head = page.getByRole('table', { name: caption }).getByRole('columnheader', { name: 'Together' });
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  await head.getByRole('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  const up = (await column(page, caption, 'Together')).map(bytesOf);
  assert.deepEqual(
    up,
    [...up].sort((a, b) => a - b),
  );
  await head.getByRole('button').click();

  await page.getByRole('checkbox', { name: 'backward' }).check();
  assert.deepEqual([...new Set(await column(page, caption, 'Role'))], ['backward']);
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByPlaceholder('Shape, name or file').fill('progs.py');
  const sources = await column(page, caption, 'Source');
  assert.ok(sources.length > 0 && sources.every((s) => s.includes('progs.py')), sources.join());
  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Kind').selectOption('donated');
  assert.deepEqual([...new Set(await column(page, caption, 'Role'))], ['donated']);
  await page.getByRole('button', { name: 'Clear' }).click();

  const row = page.getByRole('row', { name: /f32\[8,8,1024,1024\]/ });
  await row.getByRole('button', { name: 'Details' }).click();
  const details = page.locator('tr.details');
  const text = await details.innerText();
  assert.match(text, /268,435,456 bytes\), 6 equal buffers of 1,610,612,736 bytes together/);
  assert.match(text, /jit\(train_step\)\/jvp\(GPT\)\/layer_\d\/attn\/div/);
  assert.match(text, /progs\.py:40 CausalSelfAttention\.__call__/);
  assert.match(text, /from event \d+ to \d+ of the schedule/);
  await context.close();
});

test('the curve has a table for those who do not see it', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  await page.getByText('The curve as a table').click();
  const rows = await page.locator('.as-text tbody tr').allInnerTexts();
  assert.ok(
    rows.some((r) => /^185 \(peak\)/.test(r)),
    rows.join('\n'),
  );
  await context.close();
});

test('the capture of a program without a heap trace says so', async () => {
  const file = sharedFile('captures/made/cpu-jax0.7.2-gpt_plain.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage({ hash: '#view=plan' });
  await page.getByLabel('Choose captures').setInputFiles(file);
  await untilState(page, 'done');
  await page.getByText('carries no heap trace').waitFor();
  await context.close();
});

test('at 390 pixels nothing sticks out of the page', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file, { viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const view of ['summary', 'findings', 'plan', 'run', 'capture']) {
    await page.evaluate((v) => (location.hash = `#view=${v}`), view);
    await page.waitForTimeout(100);
    const [wide, have] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= have, `${view}: ${wide} of ${have}`);
  }
  await context.close();
});

test('what was filtered in the plan and chosen under What if is still there after another view', async () => {
  const file = sharedFile(S1);
  if (!file) return;
  const { page, context } = await openPlan(file);
  const filter = page.getByPlaceholder('Shape, name or file');
  await filter.fill('progs.py');
  const view = (/** @type {string} */ name) => page.getByRole('navigation').getByRole('link', { name }).click();
  await view('What if');
  const fix = page.locator('.choices input').first();
  await fix.check();
  await view('Plan');
  assert.equal(await filter.inputValue(), 'progs.py');
  await view('What if');
  assert.equal(await fix.isChecked(), true);
  await context.close();
});

test('a long table begins with as many rows as are laid out at once, and grows by a click', async () => {
  const file = sharedFile('captures/made/synthetic-c_nodonate_475m.xplane.pb');
  if (!file) return;
  const { page, context } = await openPlan(file);
  const table = page.getByRole('table', { name: /^Buffers live at event/ });
  const rows = table.locator('tbody tr');
  assert.equal(await rows.count(), 50);
  await page
    .getByRole('button', { name: /^Show \d+ more$/ })
    .first()
    .click();
  const more = await rows.count();
  assert.ok(more > 50 && more <= 150, `${more}`);
  await context.close();
});
