// The first screen of a report, its findings, what if, what can be taken away, and the way back.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, downloadJson, openPage, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

const S1 = 'scenarios/s1_plan_too_large.xplane.pb';

/** @param {string} shared @param {object} [options] */
async function openReport(shared, options = {}) {
  const file = sharedFile(shared);
  if (!file) return null;
  const opened = await openPage(options);
  await choose(opened.page, file);
  await untilState(opened.page, 'done');
  return opened;
}

test('the first screen says what failed, against what, and what would fix it', async () => {
  const opened = await openReport(S1, { context: { viewport: { width: 1440, height: 900 } } });
  if (!opened) return;
  const { page, context, requests, complaints } = opened;
  const verdict = page.getByRole('heading', { level: 1 });
  assert.match(await verdict.innerText(), /jit_train_step/);
  assert.match(await page.locator('.verdict .severity').first().innerText(), /Out of memory/);
  // The bar in words: to the byte by the ledger below it.
  const bar = page.getByRole('img', { name: /^Need and other live arrays/ });
  assert.match(
    (await bar.getAttribute('aria-label')) ?? '',
    /Pool 2\.79 GiB\. Short by \d+\.\d\d [MG]iB\. Card 3\.72 GiB\./,
  );
  await page.getByLabel('exact bytes').check();
  const ledger = await page.locator('.ledger').innerText();
  assert.match(ledger, /need\s+3,991,235,612 B/);
  assert.match(ledger, /pool\s+2,995,781,632 B/);
  assert.match(ledger, /temp\s[\s\w]*\s3,666,631,960 B/);
  assert.match(ledger, /parameters, donated\s+324,536,840 B/);
  const live = Number(/other live arrays\s+([\d,]+) B/.exec(ledger)?.[1]?.replaceAll(',', ''));
  const short = Number(/short by\s+([\d,]+) B/.exec(ledger)?.[1]?.replaceAll(',', ''));
  assert.equal(short, 3_991_235_612 + live - 2_995_781_632);
  // At most three findings, each with how it is known; all of it without scrolling sideways.
  const findings = page.locator('.finding');
  const shown = await findings.count();
  assert.ok(shown >= 1 && shown <= 3);
  for (const finding of await findings.all()) {
    assert.match(await finding.locator('.tag').first().innerText(), /^(measured|read|inferred)$/);
  }
  assert.ok((await page.locator('.whisker').count()) >= 1);
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('what sticks out of the pool is drawn to scale', async () => {
  const opened = await openReport(S1, { context: { viewport: { width: 1440, height: 900 } } });
  if (!opened) return;
  const { page, context } = opened;
  const at = async (/** @type {string} */ selector) => {
    const box = await page.locator(selector).first().boundingBox();
    assert.ok(box, selector);
    return box;
  };
  const zero = (await at('.pool-bar .zero')).x;
  const capacity = (await at('.pool-bar .gauge-lines .capacity')).x;
  const card = (await at('.pool-bar .gauge-lines .card')).x;
  const over = await at('.pool-bar .over');
  const perByte = (capacity - zero) / 2_995_781_632;
  assert.ok(Math.abs(card - zero - perByte * 3_994_375_510) < 3, 'the card is on the scale of the pool');
  assert.ok(Math.abs(over.x - capacity) < 3, 'what does not fit begins at the pool');
  const short = 3_991_235_612 - 2_995_781_632;
  assert.ok(Math.abs(over.width - perByte * short) < 4, `${over.width} for ${perByte * short}`);
  await context.close();
});

// The gauge is of what the verdict tells: the fullest device, the execution that waited or failed; one size in one form.
for (const [capture, title, verdict, left] of /** @type {const} */ ([
  ['s4_fsdp8_fits', /execution 1 +in GPU_5_bfc/, /in GPU_5_bfc, 7\.67 GiB/, /left\s+7\.67 GiB/],
  ['s8_retry_rescued', /execution 0, which waited 1\.30 s for memory/, /had to wait 1\.30 s/, /short by\s+74\.9\d MiB/],
  ['s5_other_live', /execution 0/, /at execution 0: .* short by 40\.84 MiB/, /short by\s+40\.84 MiB/],
])) {
  test(`gauge and verdict are about the same moment: ${capture}`, async () => {
    const opened = await openReport(`scenarios/${capture}.xplane.pb`);
    if (!opened) return;
    const { page, context } = opened;
    assert.match(await page.getByRole('heading', { level: 1 }).innerText(), verdict);
    assert.match((await page.locator('.gauge-title').innerText()).replace(/\s+/g, ' '), title);
    const ledger = await page.locator('.ledger').innerText();
    assert.match(ledger, left);
    const over = page.locator('.pool-bar .over');
    if (await over.count()) {
      const short = /short by\s+(\S+ \S+)/.exec(ledger)?.[1];
      assert.equal(await over.innerText(), `short ${short}`);
      assert.match((await page.locator('.pool-bar').getAttribute('aria-label')) ?? '', new RegExp(`Short by ${short}`));
    }
    await context.close();
  });
}

test('what stays alive beside the step is part of what is drawn after a fix', async () => {
  const opened = await openReport('scenarios/s5_other_live.xplane.pb');
  if (!opened) return;
  const { page, context } = opened;
  await page.getByRole('navigation').getByText('Findings').click();
  const fix = page.locator('.fix', { hasText: 'Keep the data on the host' }).first();
  const numbers = (await fix.locator('.interval-numbers').innerText()).replace(/\s+/g, ' ');
  assert.match(numbers, /^need 717\.84 MiB beside (.+) to (.+) of other arrays$/);
  // The bar reaches from the need alone to the need and all others; the page's numbers are the report's.
  const { bytes } = await downloadJson(page);
  const fixes = JSON.parse(bytes.toString()).findings.flatMap((/** @type {any} */ f) => f.fixes);
  const told = fixes.find((/** @type {any} */ f) => f.id === 'keep-on-host');
  assert.ok(told.others_after_most_bytes > told.others_after_least_bytes);
  const label = (await fix.locator('.whisker').getAttribute('aria-label')) ?? '';
  assert.match(label, /; beside it other arrays: at least .+, at most .+$/);
  await context.close();
});

test('evidence tags say what they mean, on hover, on focus and to screen readers', async () => {
  const opened = await openReport(S1);
  if (!opened) return;
  const { page, context } = opened;
  const tag = page.locator('.ledger .tag-measured').first();
  const tip = page.locator('.tip');
  await tag.hover();
  await tip.waitFor();
  assert.match(await tip.innerText(), /^Measured: an allocator or trace event/);
  await page.keyboard.press('Escape');
  await tip.waitFor({ state: 'hidden' });
  await page.locator('.ledger .tag-read').first().focus();
  await tip.waitFor();
  assert.match(await tip.innerText(), /^Read: XLA's own memory plan/);
  const described = await tag.getAttribute('aria-describedby');
  assert.match((await page.locator(`#${described}`).textContent()) ?? '', /^Measured:/);
  // Sizes give their bytes the same way.
  await page.locator('.ledger .size').first().hover();
  await page.waitForFunction(() => /^[\d,]+ B$/.test(document.querySelector('.tip')?.textContent ?? ''));
  await context.close();
});

test('a finding leads to what it stands on, and Back leads to the finding', async () => {
  const opened = await openReport(S1);
  if (!opened) return;
  const { page, context } = opened;
  await page.getByRole('link', { name: /^Findings/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Findings' }).waitFor();
  await page.locator('[data-finding="allocator-retry"] .evidence-links a').first().click();
  const note = page.getByText(/^Evidence of/);
  await note.waitFor();
  const target = page.locator('tr.target');
  await target.waitFor();
  assert.match(await target.innerText(), /10\.00 s/);
  assert.ok(await target.evaluate((e) => e === document.activeElement), 'the row has the focus');
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Findings' }).waitFor();
  await page.goForward();
  await target.waitFor();
  await note.getByRole('link').first().click();
  await page.getByRole('heading', { level: 1, name: 'Findings' }).waitFor();
  await context.close();
});

test('what if: fixes together give one interval on the scale, and code to copy', async () => {
  const opened = await openReport(S1, { hash: '#view=whatif' });
  if (!opened) return;
  const { page, context } = opened;
  const boxes = page.locator('.choice input');
  assert.ok((await boxes.count()) >= 2);
  await boxes.nth(0).check();
  const numbers = page.locator('.interval-numbers');
  await numbers.waitFor();
  const one = await numbers.innerText();
  assert.match(one, /^need\s+\d+\.\d\d [KMG]iB/);
  await boxes.nth(1).check();
  await page.waitForFunction((old) => document.querySelector('.interval-numbers')?.textContent !== old, one);
  assert.ok((await page.locator('.fits').count()) >= 1);
  await context.close();
});

test('another module is one choice away, and has its own address', async () => {
  const opened = await openReport(S1);
  if (!opened) return;
  const { page, context } = opened;
  await page.getByLabel('Module').selectOption({ label: 'jit_negative(5) · 16 B' });
  await page.waitForFunction(() => document.querySelector('.ledger')?.textContent?.includes('16 B'));
  assert.match(page.url(), /#module=jit_negative%285%29$/);
  await page.goBack();
  await page.waitForFunction(() => document.querySelector('.ledger')?.textContent?.includes('3.72 GiB'));
  await context.close();
});

test('the link carries the settings and nothing of the capture', async () => {
  const opened = await openReport(S1, { hash: '#view=plan' });
  if (!opened) return;
  const { page, context } = opened;
  await page.getByRole('slider').focus();
  await page.keyboard.press('Home');
  await page.waitForFunction(() => location.hash === '#view=plan&event=0');
  await page.getByRole('link', { name: 'Capture' }).click();
  await page.waitForFunction(() => location.hash.startsWith('#view=capture'));
  assert.doesNotMatch(page.url(), /s1_plan|synthetic|xplane/);
  await context.close();
});

test('the report is downloaded, and copied as Markdown and as text', async () => {
  const opened = await openReport(S1, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  if (!opened) return;
  const { page, context } = opened;
  const { name, bytes } = await downloadJson(page);
  assert.equal(name, 's1_plan_too_large.xplane.pb.oomscope.json');
  assert.equal(JSON.parse(bytes.toString()).schema, 'oomscope/1');
  await page.getByText('More', { exact: true }).click();
  for (const [button, form] of /** @type {const} */ ([
    ['Copy report as Markdown', /^#.*[\s\S]*jit_train_step/],
    ['Copy report as plain text', /jit_train_step\(17\)/],
    ['Copy link to this view', /^file:.*index\.html$/],
  ])) {
    await page.getByRole('button', { name: button }).click();
    await page.getByText('Copied').first().waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), form);
    await page.getByText('Copied').first().waitFor({ state: 'hidden', timeout: 10_000 });
  }
  await context.close();
});

test('on paper: black on white, no controls', async () => {
  const opened = await openReport(S1, { context: { colorScheme: 'dark' } });
  if (!opened) return;
  const { page, context } = opened;
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.getByRole('button', { name: 'Download JSON' }).isVisible(), false);
  assert.equal(await page.locator('nav').isVisible(), false);
  assert.equal(await page.getByRole('heading', { level: 1 }).isVisible(), true);
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor),
    'rgb(255, 255, 255)',
  );
  await context.close();
});

test('charts are painted anew for paper, in light colours and as wide as the sheet', async () => {
  const opened = await openReport(S1, { context: { colorScheme: 'dark' } });
  if (!opened) return;
  const { page, context } = opened;
  const theme = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await theme();
  await page.getByRole('navigation').getByRole('link', { name: 'Plan' }).click();
  const chart = page.locator('.chart-box');
  const before = await chart.boundingBox();
  // What is on the canvas when the browser prints it: after the page had its say.
  await page.evaluate(() =>
    addEventListener('beforeprint', () => {
      const canvas = document.querySelector('canvas');
      const { width = 0, height = 0 } = canvas ?? {};
      const dots = canvas?.getContext('2d')?.getImageData(0, 0, width, height).data ?? [];
      let blue = 0;
      for (let i = 0; i < dots.length; i += 4)
        if ((dots[i] ?? 0) < 60 && (dots[i + 1] ?? 0) > 100 && (dots[i + 2] ?? 0) > 180) blue++;
      Object.assign(globalThis, { printed: { width, blue: blue / (width * height) } });
    }),
  );
  await page.pdf({ format: 'A4', margin: { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' } });
  const base = await page.evaluate(() => Reflect.get(globalThis, 'printed'));
  assert.equal(base.width, 2 * 718);
  // The bands of this plan are mostly forward: blue, and a good part of the picture.
  assert.ok(base.blue > 0.1, JSON.stringify(base));
  // Whatever lies over it is not printed, since a browser prints what is clear as white.
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('.chart-box .over').isVisible(), false);
  await page.emulateMedia({ media: 'screen' });
  assert.equal(await theme(), dark);
  assert.deepEqual(await chart.boundingBox(), before);
  await context.close();
});

test('the self-test runs inside the page', async () => {
  const { page, context } = await openPage();
  await page.getByRole('button', { name: 'Self-test' }).click();
  const said = page.locator('footer [role=status]');
  await page.waitForFunction(() => /checks passed/.test(document.querySelector('footer')?.textContent ?? ''), null, {
    timeout: 60_000,
  });
  const [, passed, all] = /(\d+) of (\d+) checks passed/.exec(await said.innerText()) ?? [];
  assert.ok(Number(all) > 0);
  assert.equal(passed, all);
  await context.close();
});

test('a step back from a report leads to the start, a step forward to the report; a closed one leaves no question', async () => {
  const opened = await openReport(S1);
  if (!opened) return;
  const { page, context } = opened;
  await page.goBack();
  await untilState(page, 'empty');
  await page.getByRole('heading', { name: 'Why did JAX run out of memory?' }).waitFor();
  await page.getByRole('button', { name: 'Back to what is open' }).click();
  await untilState(page, 'done');
  await page.getByRole('navigation').getByRole('link', { name: 'Findings' }).click();
  await page.getByRole('heading', { name: 'Findings' }).waitFor();
  await page.locator('.menu summary').click();
  await page.getByRole('button', { name: 'Close the capture' }).click();
  await untilState(page, 'empty');
  await page.goBack();
  await page.waitForFunction(() => location.hash === '');
  assert.doesNotMatch(await page.getByRole('main').innerText(), /This link asks/);
  await context.close();
});

test('from a finding to its evidence and back: to the same place and link; the way back stays in sight', async () => {
  const opened = await openReport(S1, { context: { viewport: { width: 1280, height: 600 } } });
  if (!opened) return;
  const { page, context } = opened;
  await page.getByRole('navigation').getByRole('link', { name: 'Findings' }).click();
  const links = page.locator('.evidence-links a');
  const link = links.last();
  await link.scrollIntoViewIfNeeded();
  const [text, y] = [await link.innerText(), await page.evaluate(() => scrollY)];
  assert.ok(y > 0);
  await link.click();
  const evidence = page.locator('.note.evidence');
  await evidence.waitFor();
  await page.evaluate(() => scrollBy(0, 200));
  const box = await evidence.boundingBox();
  assert.ok(box && box.y > 0 && box.y < 120, JSON.stringify(box));
  await page.goBack();
  await page.getByRole('heading', { name: 'Findings' }).waitFor();
  await page.waitForFunction((y) => Math.abs(scrollY - y) < 5, y);
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), text);
  await context.close();
});

test('a link to a view that is not there says why and shows the summary', async () => {
  const opened = await openReport(S1, { hash: '#view=text' });
  if (!opened) return;
  const { page, context } = opened;
  await page.getByText('There is nothing for the view “text” in what is open').waitFor();
  assert.equal(await page.locator('h1#verdict').count(), 1);
  assert.equal(await page.locator('[aria-current=page]').innerText(), 'Summary');
  await context.close();
});

test('a label of the bar stands whole or not at all, clear of what is short', async () => {
  const opened = await openReport('captures/made/synthetic-a_plan_oom_big_attn.xplane.pb');
  if (!opened) return;
  const { page, context } = opened;
  for (const width of [1440, 1100, 900, 390]) {
    await page.setViewportSize({ width, height: 800 });
    const cut = await page.locator('.pool-bar').evaluate((bar) => {
      const short = bar.querySelector('.over b')?.getBoundingClientRect();
      return [...bar.querySelectorAll('.segment-label')].flatMap((box) => {
        const [own, words] = [box.getBoundingClientRect(), box.lastElementChild?.getBoundingClientRect()];
        // On the second line, which is out of sight.
        if (words === undefined || words.top >= own.bottom) return [];
        return words.right > own.right + 1 || (short !== undefined && words.right > short.left)
          ? [box.textContent]
          : [];
      });
    });
    assert.deepEqual(cut, [], `${width}`);
  }
  // What is drawn says itself, and so does the ledger of the roles.
  await page.locator('.pool-bar .fill-forward').first().hover();
  assert.match(await page.locator('.tip').innerText(), /^temp, forward \d/);
  assert.match(await page.getByRole('row', { name: /^temp/ }).innerText(), /temp\s+forward\s+backward/);
  await context.close();
});

test('what fits only a larger pool is drawn against that pool', async () => {
  const opened = await openReport('scenarios/s8_retry_rescued.xplane.pb', { hash: '#view=whatif' });
  if (!opened) return;
  const { page, context } = opened;
  await page.locator('.choice', { hasText: 'Give the pool' }).getByRole('checkbox').check();
  const whisker = page.locator('.whisker');
  await whisker.waitFor();
  const [bar, line] = [whisker.locator('.bar'), whisker.locator('.capacity')];
  const [b, l] = [await bar.boundingBox(), await line.boundingBox()];
  assert.ok(b && l && b.x <= l.x, JSON.stringify([b, l]));
  assert.match(await page.locator('.interval-numbers').innerText(), /in a pool of 2\.86 GiB$/);
  await context.close();
});

test('exact bytes are exact everywhere, and the switch is there on a narrow screen', async () => {
  const opened = await openReport(S1, { hash: '#view=plan', context: { viewport: { width: 390, height: 844 } } });
  if (!opened) return;
  const { page, context } = opened;
  const switched = page.getByLabel('exact bytes');
  await page.locator('.treemap .cell').first().waitFor();
  const box = await switched.boundingBox();
  assert.ok(box && box.x > 0 && box.x + box.width < 390);
  await switched.check();
  assert.match(await page.locator('.table-sum').first().innerText(), /[\d,]{9,} B together/);
  assert.doesNotMatch(await page.locator('.treemap').innerText(), /[KMG]iB/);
  await page.getByRole('navigation').getByRole('link', { name: 'Summary' }).click();
  assert.doesNotMatch(await page.locator('.pool-bar').innerText(), /[KMG]iB/);
  await context.close();
});

test('where the free bytes suffice in no piece, the bar and its ledger say so', async () => {
  const opened = await openReport('scenarios/s6_fragmentation.xplane.pb');
  if (!opened) return;
  const { page, context } = opened;
  const ledger = (await page.locator('.ledger').innerText()).replace(/\s+/g, ' ');
  assert.match(
    ledger,
    /left 1\.43 GiB read free when it asked 1\.83 GiB measured asked for, in one piece 405\.92 MiB inferred largest free piece 150\.00 MiB measured/,
  );
  assert.match(await page.locator('.pool-bar').innerText(), /no free piece of 405\.92 MiB/);
  assert.match((await page.locator('.pool-bar').getAttribute('aria-label')) ?? '', /No free piece of 405\.92 MiB\./);
  await context.close();
});

test('copies of donated parameters are part of the bar', async () => {
  const opened = await openReport('scenarios/s7_donation_defeated.xplane.pb');
  if (!opened) return;
  const { page, context } = opened;
  const ledger = (await page.locator('.ledger').innerText()).replace(/\s+/g, ' ');
  assert.match(ledger, /copies of what is donated 311\.91 MiB read left 1\.78 GiB/);
  await context.close();
});

test('an explanation does not hide the tabs', async () => {
  const opened = await openReport(S1);
  if (!opened) return;
  const { page, context } = opened;
  await page.locator('.verdict .tag').first().focus();
  const [tip, tabs] = [await page.locator('.tip').boundingBox(), await page.locator('nav.views').boundingBox()];
  assert.ok(tip && tabs && tip.y >= tabs.y + tabs.height, JSON.stringify([tip, tabs]));
  await context.close();
});
