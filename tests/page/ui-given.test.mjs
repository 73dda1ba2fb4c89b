// A plan alone is held against a size that its user knows.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, commandLineJson, downloadJson, openPage, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

const PLAN = 'plans/scenarios/p1_attention_too_large.hlo.pb';

test('a plan is held against the size of a pool or a card, as on the command line', async () => {
  const plan = sharedFile(PLAN);
  if (!plan) return;
  const { page, context, complaints } = await openPage();
  await choose(page, plan);
  await untilState(page, 'done');
  const verdict = page.locator('#verdict');
  assert.match(await verdict.innerText(), /cannot be told from the plan alone/);

  // Three quarters of the card are the pool, and the need lies between.
  await page.getByLabel('Pool or card').selectOption('card');
  await page.getByLabel('Size in GiB').fill('4');
  await page.getByLabel('Size in GiB').press('Enter');
  await page.getByText('Out of memory', { exact: true }).waitFor();
  assert.match(await verdict.innerText(), /the pool has 3\.00 GiB, short by 0\.72 GiB/);
  assert.match(await page.locator('.ledger').innerText(), /pool\s+3\.00 GiB\s+inferred/);
  const saved = await downloadJson(page);
  assert.ok(saved.bytes.equals(commandLineJson(plan, ['--card', '4GiB'])));

  await page.getByLabel('Pool or card').selectOption('pool');
  await page.getByLabel('Size in GiB').fill('3.9');
  await page.getByRole('button', { name: 'Hold' }).click();
  await page.getByText('Fits', { exact: true }).waitFor();
  assert.match(await verdict.innerText(), /fits an empty pool of 3\.90 GiB/);

  await page.getByRole('button', { name: 'Take away' }).click();
  await page.getByText('Cannot tell', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Size in GiB').inputValue(), '');
  assert.deepEqual(complaints, []);
  await context.close();
});

test('what was measured is not asked for', async () => {
  const capture = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!capture) return;
  const { page, context } = await openPage();
  await choose(page, capture);
  await untilState(page, 'done');
  assert.equal(await page.getByLabel('Size in GiB').count(), 0);
  await context.close();
});
