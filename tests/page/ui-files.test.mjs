// Many files at once: progress, errors on their own file, cancel, a new drop while reading, hosts and comparison.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { choose, closeBrowser, drop, endless, openPage, sharedFile, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

/** A small capture whose plan needs some more MiB than its neighbours. @param {string} host @param {number} mebibytes */
const host = (host, mebibytes) =>
  capture({
    host,
    module: 'jit_step',
    buffers: [{ name: 'mul.1', opName: 'jit(step)/jvp(m)/mul', file: '/a/b.py', elements: mebibytes * 2 ** 18 }],
  });

test('fifty files: those that can be read are, each other one has its own sentence', async () => {
  const { page, context, complaints } = await openPage();
  const files = Array.from({ length: 50 }, (_, i) =>
    i % 10 === 3
      ? asFile(`notes-${i}.txt`, Buffer.from(`%PDF-1.7 number ${i}`))
      : asFile(`host-${String(i).padStart(2, '0')}.xplane.pb`, host(`host-${i}`, i === 21 ? 96 : 64)),
  );
  await choose(page, files);
  await untilState(page, 'done');
  await page.getByRole('heading', { name: '45 captures, 45 devices' }).waitFor();
  // The odd one out stands first, and is named.
  assert.match(await page.locator('.lede').innerText(), /host-21.*needs 32\.00 MiB more than the median of 45 devices/);
  assert.match(await page.getByRole('table').locator('tbody tr').first().innerText(), /host-21\.xplane\.pb/);
  const failed = page.locator('.item-error');
  assert.equal(await failed.filter({ hasText: 'notes-' }).count(), 5);
  assert.match(await page.locator('.items').innerText(), /notes-3\.txt[\s\S]*PDF/);
  // A row leads to its report.
  await page.getByRole('link', { name: 'host-21.xplane.pb' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.match(await page.getByRole('main').innerText(), /96\.00 MiB/);
  await page.goBack();
  await page.getByRole('heading', { name: '45 captures, 45 devices' }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test('programs of one name with other arguments are no peers', async () => {
  const small = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  const large = sharedFile('scenarios/s4_fsdp8_fits.xplane.pb');
  if (!small || !large) return;
  const { page, context } = await openPage();
  // Made captures all name one host: this one is of another.
  const moved = readFileSync(large);
  moved.write('elsewhere', moved.lastIndexOf('synthetic'));
  await choose(page, [asFile('s1_plan_too_large.xplane.pb', readFileSync(small)), asFile('s4.xplane.pb', moved)]);
  await page.getByRole('heading', { name: '2 captures, 9 devices' }).waitFor();
  assert.match(await page.locator('.lede').innerText(), /GPU_5_bfc.*2\.00 GiB more than the median of 8 devices/);
  const alone = page.getByRole('row', { name: /s1_plan_too_large/ });
  assert.match(await alone.innerText(), /2\.79 GiB\s+–\s+no other device ran this program\s+Out of memory/);
  await context.close();
});

test('runs of one host are no peers: the newest is compared with other hosts, the others are earlier runs', async () => {
  const place = mkdtempSync(join(tmpdir(), 'oomscope-'));
  // The second run of host a is the odd one out; its first one is further off, and no peer.
  const runs = { '2026_01_01_10_00_00': { a: 512, b: 64 }, '2026_01_02_10_00_00': { a: 96, b: 64, c: 64 } };
  for (const [time, hosts] of Object.entries(runs)) {
    const run = join(place, 'a-long-name-of-an-experiment/plugins/profile', time);
    mkdirSync(run, { recursive: true });
    for (const [name, mebibytes] of Object.entries(hosts))
      writeFileSync(join(run, `${name}.xplane.pb`), host(`host-${name}`, mebibytes));
  }
  const { page, context } = await openPage();
  await page.getByLabel('Choose a folder').setInputFiles(join(place, 'a-long-name-of-an-experiment'));
  await page.getByRole('heading', { name: '5 captures, 3 devices, 2 earlier runs' }).waitFor();
  assert.match(await page.locator('.lede').innerText(), /host-a.*needs 32\.00 MiB more than the median of 3 devices/);
  const rows = await page.getByRole('table').locator('tbody tr').allInnerTexts();
  // Each row says which run it is of.
  assert.match(rows[0] ?? '', /2026_01_02_10_00_00\/a\.xplane\.pb[\s\S]*\+32\.00 MiB/);
  assert.equal(rows.filter((r) => /2026_01_01_10_00_00\/[ab]\.xplane\.pb[\s\S]*an earlier run/.test(r)).length, 2);
  assert.match(rows.slice(3).join(), /^(?!.*2026_01_02)/s);
  rmSync(place, { recursive: true });
  await context.close();
});

test('three runs of one host have no odd one out', async () => {
  const { page, context } = await openPage();
  await choose(
    page,
    [64, 64, 512].map((n, i) => asFile(`try-${i}.xplane.pb`, host('one', n))),
  );
  await page.getByRole('heading', { name: '3 captures, 1 device, 2 earlier runs' }).waitFor();
  assert.equal(await page.locator('.lede').count(), 0);
  assert.doesNotMatch(await page.getByRole('table').innerText(), /[+−±]\d/);
  await context.close();
});

test('of files chosen together the first is before, and that it no longer fits is told', async () => {
  const fits = sharedFile('scenarios/s3c_donated.xplane.pb');
  const fails = sharedFile('scenarios/s3_no_donation_leak.xplane.pb');
  if (!fits || !fails) return;
  const { page, context } = await openPage();
  for (const [files, change] of /** @type {const} */ ([
    [[fits, fails], /gone\s*All well\s*The capture fits/],
    [[fails, fits], /new\s*All well\s*The capture fits/],
  ])) {
    await choose(page, [...files]);
    const names = files.map((f) => basename(f));
    await page.getByRole('link', { name: basename(files[0]) }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Compare' }).click();
    const side = (/** @type {string} */ of) =>
      page.getByRole('combobox', { name: of }).locator('option:checked').innerText();
    assert.deepEqual([await side('before'), await side('after')], names);
    assert.match(await page.locator('.changes').innerText(), change);
  }
  // A link to the view alone says the same.
  await page.evaluate(() => (location.hash = '#view=files'));
  await page.evaluate(() => (location.hash = '#view=compare'));
  await page.getByRole('heading', { name: 'Before and after' }).waitFor();
  assert.match(await page.getByRole('combobox', { name: 'before' }).locator('option:checked').innerText(), /^s3_no/);
  await context.close();
});

test('where the plan needs the same, the comparison tells what else was alive', async () => {
  const before = sharedFile('scenarios/s2b_gradients_not_kept.xplane.pb');
  const after = sharedFile('scenarios/s2_gradients_kept.xplane.pb');
  if (!before || !after) return;
  const { page, context } = await openPage();
  await choose(page, before);
  await untilState(page, 'done');
  await page.getByLabel('Add captures to compare').setInputFiles(after);
  await page.getByRole('heading', { name: 'Before and after' }).waitFor();
  assert.equal(
    await page.locator('.big').innerText(),
    'The plan needs as much as before, and 831.21 MiB more of other arrays stay alive beside it',
  );
  await context.close();
});

test('back leads to the table of files, however soon a reader left it', async () => {
  const { page, context } = await openPage();
  await choose(
    page,
    [8, 16].map((n) => asFile(`${n}.xplane.pb`, host(`host-${n}`, n))),
  );
  // In the very frame in which the link appears.
  await page.evaluate(
    () =>
      new Promise((done) => {
        const look = () => {
          const link = [...document.querySelectorAll('a')].find((a) => a.textContent === '16.xplane.pb');
          if (link) done(link.click());
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
  await page.waitForFunction(() => location.hash === '#file=2');
  await page.goBack();
  await page.getByRole('heading', { name: '2 captures, 2 devices' }).waitFor();
  await context.close();
});

test('none of several can be read: each says why, and the state is an error', async () => {
  const { page, context } = await openPage();
  await choose(page, [asFile('a.pdf', Buffer.from('%PDF-1.7')), asFile('empty.xplane.pb', Buffer.alloc(0))]);
  await untilState(page, 'error');
  await page.getByRole('heading', { name: 'None of 2 files could be read' }).waitFor();
  assert.equal((await page.locator('.item-error').count()) >= 2, true);
  await page.getByRole('button', { name: 'Back to the start' }).click();
  await untilState(page, 'empty');
  await context.close();
});

/** Larger than what {@link endless} lets through. */
const large = capture({ pairs: 2000 });

test('reading shows how far it is, and can be cancelled', async () => {
  const { page, context } = await openPage({ init: endless(100_000) });
  await choose(
    page,
    Array.from({ length: 6 }, (_, i) => asFile(`slow-${i}.xplane.pb`, large)),
  );
  await untilState(page, 'reading');
  await page.getByRole('heading', { name: 'Reading 6 files' }).waitFor();
  assert.equal(await page.getByRole('progressbar', { name: 'Read so far' }).count(), 1);
  assert.match(await page.locator('.overall').innerText(), /of \d\.\d\d MiB, 0 of 6 files/);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await untilState(page, 'empty');
  // Nothing is left of it: the next is read as ever.
  await choose(page, [asFile('next.xplane.pb', host('next', 8))]);
  await untilState(page, 'done');
  await context.close();
});

test('a new drop while reading replaces the old one', async () => {
  const { page, context } = await openPage({ init: endless(100_000) });
  await choose(
    page,
    Array.from({ length: 4 }, (_, i) => asFile(`old-${i}.xplane.pb`, large)),
  );
  await untilState(page, 'reading');
  await drop(page, [{ name: 'new.xplane.pb', bytes: host('new', 8) }]);
  await untilState(page, 'done');
  const text = await page.locator('body').innerText();
  assert.match(text, /new\.xplane\.pb/);
  assert.doesNotMatch(text, /old-/);
  await context.close();
});

test('two captures are compared: every number with its difference, buffers by name and shape', async () => {
  const before = sharedFile('captures/made/synthetic-c_nodonate_475m.xplane.pb');
  const after = sharedFile('captures/made/synthetic-d_fits_gpt_small.xplane.pb');
  if (!before || !after) return;
  const { page, context } = await openPage();
  await choose(page, before);
  await untilState(page, 'done');
  await page.getByLabel('Add captures to compare').setInputFiles(after);
  await page.getByRole('heading', { name: 'Before and after' }).waitFor();
  await page.getByLabel('exact bytes').check();
  const rows = await page.locator('table', { hasText: 'need of the plan' }).locator('tbody tr').allInnerTexts();
  const number = (/** @type {string} */ t) => Number(t.replace('−', '-').replace(/[^-\d]/g, ''));
  for (const row of rows) {
    const [label = '', a = '', b = '', difference = ''] = row.split('\t');
    if (/not in the capture/.test(row)) continue;
    assert.equal(number(b) - number(a), number(difference), label);
  }
  assert.ok(rows.length > 8);
  const buffers = page.getByRole('table', { name: 'Buffers at the peak before and after' }).locator('tbody tr');
  assert.ok((await buffers.count()) > 10);
  // The other way round, every difference turns its sign.
  const first = (await page.locator('.big').innerText()).replace('more', 'less');
  await page.getByRole('button', { name: 'Swap' }).click();
  await page.waitForFunction(
    (old) => document.querySelector('.big')?.textContent?.replace('more', 'less') === old,
    first,
  );
  await context.close();
});

test('the gravest verdict stands first and in the headline, though it is of an earlier run', async () => {
  const fits = sharedFile('scenarios/s3c_donated.xplane.pb');
  const fails = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!fits || !fails) return;
  const { page, context } = await openPage();
  await choose(page, [fails, fits]);
  await page.getByRole('heading', { name: '2 captures, 1 device, 1 earlier run' }).waitFor();
  assert.match(await page.locator('.lede').innerText(), /^s1_plan_too_large\.xplane\.pb ran out of memory\./);
  const table = page.getByRole('table');
  assert.match(await table.locator('tbody tr').first().innerText(), /s1_plan.*Out of memory\s+inferred/s);
  // Every number with how it is known.
  assert.match((await table.locator('thead').innerText()).replace(/\s+/g, ' '), /Need ?read Peak in use ?measured/);
  await context.close();
});

test('a difference that is no reason to look has no colour, and a text is no device', async () => {
  const { page, context } = await openPage();
  await choose(
    page,
    [64, 65, 64, 96].map((n, i) => asFile(`${i}.xplane.pb`, host(`host-${i}`, n))),
  );
  await page.getByRole('heading', { name: '4 captures, 4 devices' }).waitFor();
  const [worse, small] = [page.locator('tbody .worse'), page.locator('tbody .size').filter({ hasText: /^[+−]/ })];
  assert.equal(await worse.count(), 1);
  assert.ok((await small.count()) > 1);
  await page
    .getByLabel('Add captures to compare')
    .setInputFiles([
      asFile('error.txt', Buffer.from('RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7777777 bytes.')),
      asFile('more.xplane.pb', host('host-9', 64)),
      asFile('also.txt', Buffer.from('RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7777778 bytes.')),
    ]);
  await page.getByRole('heading', { name: '5 captures, 5 devices, 2 texts and profiles' }).waitFor();
  await context.close();
});

test('one of several can be closed, be it a file that was not read', async () => {
  const { page, context, complaints } = await openPage();
  await choose(page, [
    ...[8, 16, 24].map((n) => asFile(`${n}.xplane.pb`, host(`host-${n}`, n))),
    asFile('notes.pdf', Buffer.from('%PDF-1.7')),
  ]);
  await page.getByRole('heading', { name: '3 captures, 3 devices' }).waitFor();
  await page.getByRole('button', { name: 'Remove notes.pdf' }).click();
  await page.locator('.item-error').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Files 3' }).waitFor();
  await page.getByRole('link', { name: '16.xplane.pb' }).click();
  const menu = page.locator('.menu summary');
  await menu.click();
  await page.getByRole('button', { name: 'Close this capture' }).click();
  await page.getByRole('link', { name: 'Files 2' }).waitFor();
  assert.deepEqual(await page.locator('.capture-bar select').first().locator('option').allInnerTexts(), [
    '8.xplane.pb',
    '24.xplane.pb',
  ]);
  // A click elsewhere closes the menu.
  if (!(await page.locator('.menu').getAttribute('open'))) await menu.click();
  await page.getByRole('heading', { level: 1 }).click();
  assert.equal(await page.locator('.menu-items').isVisible(), false);
  await menu.click();
  await page.getByRole('button', { name: 'Close this capture' }).click();
  await page.getByRole('link', { name: /^Files/ }).waitFor({ state: 'detached' });
  await menu.click();
  await page.getByRole('button', { name: 'Close the capture' }).click();
  await untilState(page, 'empty');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a text is nothing to compare with, and two files of one name can be told apart', async () => {
  const { page, context } = await openPage();
  await choose(page, [asFile('one.xplane.pb', host('a', 8)), asFile('one.xplane.pb', host('b', 16))]);
  await page.getByRole('navigation').getByRole('link', { name: 'Compare' }).click();
  const options = page.getByRole('combobox', { name: 'before' }).locator('option');
  assert.deepEqual(await options.allInnerTexts(), ['one.xplane.pb', 'one.xplane.pb (2)']);
  await page.locator('.menu summary').click();
  await page.getByRole('button', { name: 'Close this capture' }).click();
  await page.getByRole('navigation').getByRole('link', { name: 'Compare' }).waitFor({ state: 'detached' });
  await context.close();
});
