// Evidence that comes alone (the text of a failure, a memory profile), and plans with several memory spaces.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { choose, closeBrowser, commandLineJson, openPage, root, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

const profile = join(root, 'tests/fixtures/memory_profile/keep-after.prof');

/** @param {string} text */
const plain = (text) => text.replace(/\s+/g, ' ').trim();

test('a memory profile that JAX wrote: its sums, its stacks, its flame graph', async () => {
  const { page, context, complaints } = await openPage();
  await choose(page, profile);
  await untilState(page, 'done');
  assert.match(
    await page.getByRole('heading', { level: 1 }).innerText(),
    /^16 arrays of 50\.52 MiB were alive on cpu:0\. The largest part, 30\.01 MiB in 9 arrays, was made at keep\.py:27 train\.$/,
  );
  await page.getByRole('link', { name: 'Profile', exact: true }).click();
  const stacks = page.getByRole('table', { name: 'Arrays and executables by Python stack' });
  assert.match(
    plain(await stacks.locator('tbody tr').first().innerText()),
    /30\.01 MiB 9 demo\/keep\.py:27 train buffer cpu:0/,
  );
  // A row opens to the whole stack and to the sizes in it, which add up to it.
  await stacks.getByRole('button', { name: 'Details' }).first().click();
  const details = plain(await stacks.locator('tr.details').innerText());
  assert.match(details, /keep\.py:27 train .*keep\.py:35 <module> By size 8\.00 MiB ×3 2\.00 MiB ×3 4\.00 KiB ×3/);

  const tree = page.getByRole('tree', { name: /Arrays by Python frame/ });
  const widths = await tree
    .getByRole('treeitem')
    .evaluateAll((all) => all.map((e) => [e.getAttribute('aria-label') ?? '', e.getBoundingClientRect().width]));
  const width = (/** @type {RegExp} */ name) => Number(widths.find(([label]) => name.test(String(label)))?.[1]);
  // 31,469,568 of 52,973,568 bytes were made below line 35.
  assert.ok(Math.abs(width(/keep\.py:35/) / width(/^all arrays/) - 0.594) < 0.005, JSON.stringify(widths));
  // By key: down, then enlarged to the whole width.
  await tree.getByRole('treeitem').first().focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Show all' }).waitFor();
  assert.match(plain(await page.locator('.reading-total').innerText()), /^30\.01 MiB 59\.4 % in 9 arrays, below/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('the text of a failed TPU compilation: the limit, the request, the buffers that it lists', async () => {
  const file = sharedFile('plans/tpu/llama7b_remat.compile_oom.txt');
  if (!file) return;
  const { page, context } = await openPage();
  await choose(page, file);
  await untilState(page, 'done');
  const said = JSON.parse(String(commandLineJson(file)));
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), said.verdict.sentence);
  await page.getByRole('link', { name: 'Text', exact: true }).click();
  assert.match(await page.getByRole('main').innerText(), /the device's memory, when the program was compiled/);
  assert.match(plain(await page.locator('.facts').first().innerText()), /Asked for .*54\.42 GiB .*In all .*15\.75 GiB/);
  await context.close();
});

test('the buffers that a text lists are in a table, with roles and lines of the program', async () => {
  const { page, context } = await openPage();
  await page.getByText('Paste the error text instead').click();
  await page
    .getByLabel(/RESOURCE_EXHAUSTED message/)
    .fill(`RESOURCE_EXHAUSTED: Out of memory while trying to allocate 3.41GiB.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:  309.56MiB
     preallocated temp allocation:    3.41GiB
                 total allocation:    3.72GiB
Peak buffers:
	Buffer 1:
		Size: 256.00MiB
		Operator: op_name="jit(train_step)/jvp(attn)/softmax/exp" source_file="/home/u/gpt.py" source_line=41
		XLA Label: exponential
		Shape: f32[8,8,1024,1024]
		==========================

	Buffer 2:
		Size: 64.00MiB
		Operator: op_name="jit(train_step)/transpose(jvp(attn))/dot_general" source_file="/home/u/gpt.py" source_line=43
		XLA Label: fusion
		Shape: f32[8,8,512,1024]
		==========================
`);
  await page.getByRole('button', { name: 'Read the text' }).click();
  await page.getByRole('link', { name: 'Text', exact: true }).click();
  const rows = page.getByRole('table', { name: 'Buffers that the text lists' }).locator('tbody tr');
  assert.deepEqual((await rows.allInnerTexts()).map(plain), [
    'about 256.00 MiB f32[8,8,1024,1024] forward jit(train_step)/jvp(attn)/softmax/exp u/gpt.py:41',
    'about 64.00 MiB f32[8,8,512,1024] backward jit(train_step)/transpose(jvp(attn))/dot_general u/gpt.py:43',
  ]);
  await context.close();
});

test('memory spaces stand under their own names and are never added', async () => {
  const file = sharedFile('scenarios/s15_host_offload.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage();
  await choose(page, file);
  await untilState(page, 'done');
  const said = JSON.parse(String(commandLineJson(file)));
  const module = said.modules.find((/** @type {any} */ m) => m.name === said.module);
  assert.ok(module.spaces.length > 1, 'the scenario has two spaces');
  await page.getByLabel('exact bytes').check();
  const bytes = (/** @type {number} */ n) => `${n.toLocaleString('en-US')} B`;
  const ledger = page.locator('.ledger table').first();
  assert.match(await ledger.innerText(), new RegExp(`need\\s+${bytes(module.spaces[0].need_bytes)}`));
  // The first screen names the others beside it.
  for (const space of module.spaces.slice(1)) {
    assert.match(
      plain(await page.locator('.other-spaces').innerText()),
      new RegExp(`${space.name} ${bytes(space.need_bytes)}`),
    );
  }
  await context.close();
});

test('a TPU plan says what it needs of HBM and of the memory inside the chip', async () => {
  const file = sharedFile('plans/tpu/gpt_plain.hlo.pb');
  if (!file) return;
  const { page, context } = await openPage();
  await choose(page, file);
  await untilState(page, 'done');
  const said = JSON.parse(String(commandLineJson(file)));
  await page.getByRole('link', { name: 'Capture', exact: true }).click();
  await page.getByLabel('exact bytes').check();
  await page.getByRole('button', { name: 'Details' }).first().click();
  const table = page.locator('tr.details table.numbers').first();
  const rows = (await table.locator('tbody tr').allInnerTexts()).map(plain);
  assert.equal(rows.length, said.modules[0].spaces.length);
  said.modules[0].spaces.forEach((/** @type {any} */ s, /** @type {number} */ i) => {
    assert.match(rows[i] ?? '', new RegExp(`^${s.space} ${s.name} ${s.need_bytes.toLocaleString('en-US')} B`));
  });
  await context.close();
});
