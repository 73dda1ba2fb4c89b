// Evidence beside a capture: the text of a failure, a memory profile; and two profiles side by side.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { choose, closeBrowser, downloadJson, drop, openPage, root, sharedFile, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

const OF_THE_TEMP =
  'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4194304 bytes.';
const OF_SOMETHING_ELSE = 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7777777 bytes.';
/** The totals are those of another compilation. */
const WITH_ANOTHER_PLAN = `RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4194304 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  309.56MiB
              constant allocation:         0B
        maybe_live_out allocation:  309.50MiB
     preallocated temp allocation:    3.41GiB
                 total allocation:    3.72GiB
`;

const profiles = join(root, 'tests/fixtures/memory_profile');
const made = capture({
  buffers: [{ name: 'mul.1', opName: 'jit(f)/jvp(g)/mul', file: '/a/b.py', elements: 1 << 20 }],
  pairs: 6,
  // Two of the three arrays that keep.py made of this size, and one that it never made.
  older: [8_388_608, 8_388_608, 123_136],
});

/** The profile as JAX on a GPU would have written it: the name of the device has as many letters. */
const onGpu = () => {
  const bytes = gunzipSync(readFileSync(join(profiles, 'keep-after.prof')));
  const renamed = Buffer.from(bytes.toString('latin1').replaceAll('cpu:0', 'gpu:0'), 'latin1');
  return asFile('keep-after.prof', gzipSync(renamed));
};

/** @param {import('playwright-core').Page} page @param {string} text */
const paste = (page, text) =>
  page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.setData('text/plain', text);
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true }));
  }, text);

/** @param {import('playwright-core').Page} page */
async function openMade(page) {
  await choose(page, [asFile('made.xplane.pb', made)]);
  await page.getByRole('navigation').getByText('Plan').waitFor();
}

test('a text pasted beside an open capture is matched with it, and can be taken away again', async () => {
  const { page, context, complaints } = await openPage();
  await openMade(page);
  await paste(page, OF_THE_TEMP);
  await page.getByRole('heading', { name: 'The text of the failure' }).waitFor();
  const matched = page.locator('main .note');
  assert.match(await matched.innerText(), /temp block/);
  assert.match(await matched.getByRole('listitem').innerText(), /temp block 4\.00 MiB in the plan of jit_made\(17\)/);
  assert.match(await page.locator('.beside').innerText(), /pasted text is read as the error of this capture/);
  // The first screen says it too, and what is saved holds it.
  await page.getByRole('link', { name: 'Summary' }).click();
  assert.match(await page.locator('.your-error').innerText(), /Your error\..*temp block/s);
  const saved = JSON.parse(String((await downloadJson(page)).bytes));
  assert.equal(saved.error_text.matched.module, 'jit_made(17)');
  assert.equal(saved.error_text.matched.request[0].bytes, 4194304);

  await page.getByRole('link', { name: 'Text', exact: true }).click();
  await page.getByRole('button', { name: 'Take it away' }).click();
  await page.locator('.your-error').waitFor({ state: 'detached' });
  assert.equal(JSON.parse(String((await downloadJson(page)).bytes)).error_text, null);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a request that is nothing in the capture is said to be none', async () => {
  const { page, context } = await openPage();
  await openMade(page);
  await drop(page, [{ name: 'error.log', bytes: Buffer.from(OF_SOMETHING_ELSE) }]);
  await page.getByRole('heading', { name: 'The text of the failure' }).waitFor();
  assert.match(await page.locator('main .note').innerText(), /7\.42 MiB .* is no output and no temp block/);
  // A second text takes the place of the first.
  await paste(page, OF_THE_TEMP);
  await page.locator('main .note', { hasText: 'temp block' }).waitFor();
  assert.equal(await page.locator('.beside').count(), 1);
  await context.close();
});

test('where text and plan differ, both numbers stand side by side', async () => {
  const { page, context } = await openPage();
  const file = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!file) return;
  await choose(page, file);
  await page.getByRole('navigation').getByText('Plan').waitFor();
  await paste(page, WITH_ANOTHER_PLAN.replace('4194304', '3666631960').replace('309.56MiB', '400.00MiB'));
  const table = page.getByRole('table', { name: 'Where text and plan differ' });
  await table.waitFor();
  assert.match(await table.innerText(), /parameter allocation\s+about 400\.00 MiB\s+309\.56 MiB/);
  await context.close();
});

test('it can be opened by itself, and the capture stays', async () => {
  const { page, context } = await openPage();
  await openMade(page);
  await paste(page, OF_SOMETHING_ELSE);
  await page.getByRole('button', { name: 'Open it by itself' }).click();
  await page.getByRole('link', { name: 'Files 2' }).waitFor();
  assert.match(await page.getByRole('main').innerText(), /asked for 7\.42 MiB/);
  await page.locator('.capture-bar select').first().selectOption('made.xplane.pb');
  await page.getByRole('main').getByText('jit_made(17)').first().waitFor();
  assert.equal(await page.locator('.your-error').count(), 0);
  await context.close();
});

test('a capture dropped with its error and its profile has both beside it', async () => {
  const { page, context } = await openPage();
  await drop(page, [
    { name: 'error.txt', bytes: Buffer.from(OF_THE_TEMP) },
    { name: 'made.xplane.pb', bytes: made },
    join(profiles, 'keep-after.prof'),
  ]);
  await page.locator('.your-error', { hasText: 'temp block' }).waitFor();
  assert.equal(await page.getByRole('link', { name: /^Files/ }).count(), 0);
  await page.getByRole('link', { name: /^Capture/ }).click();
  assert.match(await page.getByRole('main').innerText(), /Beside it\s+error\.txt.*\s+keep-after\.prof/s);
  await context.close();
});

test('arrays from before the capture get the places of a profile beside it', async () => {
  const { page, context, complaints } = await openPage();
  await openMade(page);
  await choose(page, [onGpu()]);
  const table = page.getByRole('table', { name: 'Arrays from before the capture with the stacks of their size' });
  await table.waitFor();
  assert.deepEqual(
    (await table.locator('tbody tr').allInnerTexts()).map((t) => t.replace(/\s+/g, ' ')),
    ['16.00 MiB 8.00 MiB 2 5 demo/keep.py:27 train ×4 demo/keep.py:21 init ×1'],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a profile of another platform is said to be one, and nothing of it is looked for', async () => {
  const { page, context } = await openPage();
  await openMade(page);
  await choose(page, join(profiles, 'keep-after.prof'));
  const note = page.locator('main .note', { hasText: 'of another platform' });
  await note.waitFor();
  assert.match(await note.innerText(), /its arrays are on cpu:0, the capture is of a GPU/);
  assert.equal(await page.getByRole('heading', { name: 'Names for what was allocated before' }).count(), 0);
  await context.close();
});

test('two profiles: the difference, whichever came first', async () => {
  const { page, context } = await openPage();
  await choose(page, join(profiles, 'keep-before.prof'));
  await page.getByRole('link', { name: 'Profile', exact: true }).waitFor();
  await choose(page, join(profiles, 'keep-after.prof'));
  await page.getByRole('heading', { name: 'Before and after' }).waitFor();
  const growth = page.getByRole('table', { name: 'Growth by Python stack since the earlier profile' });
  await growth.waitFor();
  const both = [await growth.locator('tbody tr').innerText()];
  await page.getByRole('button', { name: 'Swap' }).click();
  const turned = both[0]?.includes('+30.01 MiB') ? '−30.01 MiB' : '+30.01 MiB';
  await growth.getByText(turned).first().waitFor();
  both.push(await growth.locator('tbody tr').innerText());
  assert.deepEqual(both.map((t) => /[+−][\d.]+ MiB/.exec(t)?.[0]).sort(), ['+30.01 MiB', '−30.01 MiB']);
  await context.close();
});

test('what cannot be read does not take the place of an open capture', async () => {
  const { page, context, complaints } = await openPage({ hash: '#view=plan' });
  await openMade(page);
  const before = await page.getByRole('main').innerText();
  await drop(page, [{ name: 'next.xplane.pb', bytes: readFileSync(join(root, 'package.json')) }]);
  const refused = page.locator('.trouble');
  await refused.waitFor();
  await untilState(page, 'done');
  assert.match(await refused.innerText(), /^Not read: next\.xplane\.pb\. .+ What was open stays\.$/);
  assert.ok((await page.getByRole('main').innerText()).endsWith(before));
  assert.match(page.url(), /#view=plan/);
  // It is told once, and the capture answers as before.
  await page.getByRole('navigation').getByText('Capture').click();
  await refused.waitFor({ state: 'detached' });
  await page.getByText('made.xplane.pb').first().waitFor();
  // One that can be read does.
  await drop(page, [{ name: 'other.xplane.pb', bytes: made }]);
  await page.getByText('other.xplane.pb').first().waitFor();
  await untilState(page, 'done');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a capture brought after its error has it beside it, whether it takes its place or is added', async () => {
  for (const add of [false, true]) {
    const { page, context, complaints } = await openPage();
    await paste(page, OF_THE_TEMP);
    await page.getByText('asked for 4.00 MiB').first().waitFor();
    if (add) await page.getByLabel('Add captures to compare').setInputFiles([asFile('made.xplane.pb', made)]);
    else await choose(page, [asFile('made.xplane.pb', made)]);
    await page.locator('.your-error', { hasText: 'temp block' }).waitFor();
    assert.equal(await page.getByRole('link', { name: /^(Files|Compare)/ }).count(), 0);
    await page.getByRole('link', { name: 'Capture', exact: true }).click();
    assert.match(await page.getByRole('main').innerText(), /Beside it\s+pasted text/);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

test('a text that is none of a failure and a file that is none of a capture say so, and leave nothing behind', async () => {
  const { page, context } = await openPage({ hash: '#view=plan' });
  await openMade(page);
  const refused = page.locator('.trouble');
  for (const bring of [
    () => paste(page, 'hello, this is a text of something else'),
    () =>
      page
        .getByLabel('Add captures to compare')
        .setInputFiles([asFile('README.md', readFileSync(join(root, 'README.md')))]),
  ]) {
    await bring();
    await refused.waitFor();
    await untilState(page, 'done');
    assert.match(await refused.innerText(), /^Not read: (pasted text|README\.md)\. .+\. What was open stays\.$/);
    assert.match((await page.locator('p.offscreen[role=status]').textContent()) ?? '', /^Not read:/);
    assert.equal(await page.getByRole('link', { name: /^Files/ }).count(), 0);
    assert.match(page.url(), /#view=plan$/);
    await page.getByRole('navigation').getByText('Capture').click();
    await refused.waitFor({ state: 'detached' });
    await page.getByRole('navigation').getByText('Plan').click();
  }
  await context.close();
});

test('a profile that is read beside several captures is listed with them', async () => {
  const { page, context } = await openPage();
  await drop(page, [
    { name: 'a.xplane.pb', bytes: capture({ host: 'a' }) },
    { name: 'b.xplane.pb', bytes: capture({ host: 'b' }) },
    join(profiles, 'keep-after.prof'),
  ]);
  await page.getByRole('heading', { name: '2 captures, 2 devices' }).waitFor();
  await page.getByText('keep-after.prof is read beside every capture.').waitFor();
  await context.close();
});
