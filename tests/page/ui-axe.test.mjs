// Accessibility: axe finds nothing in any state of the page, light or dark, wide or narrow; and keys reach everything.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { choose, closeBrowser, endless, openPage, root, sharedFile, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds, in short. @param {import('playwright-core').Page} page */
async function findings(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    // @ts-expect-error: axe was put there
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(
      (/** @type {any} */ v) =>
        `${v.id}: ${v.nodes
          .map((/** @type {any} */ n) => `${n.target.join(' ')} ${n.failureSummary}`)
          .slice(0, 3)
          .join(' | ')}`,
    );
  });
}

const made = capture({ buffers: [{ name: 'mul.1', opName: 'jit(f)/jvp(g)/mul', file: '/a/b.py', elements: 1 << 20 }] });

/** @type {Record<string, (page: import('playwright-core').Page) => Promise<void>>} */
const states = {
  empty: async () => {},
  'empty with the box open': (page) => page.getByText('Paste the error text instead').click(),
  error: async (page) => {
    await choose(page, [asFile('a.pdf', Buffer.from('%PDF-1.7')), asFile('b.pdf', Buffer.from('%PDF-1.7'))]);
    await untilState(page, 'error');
  },
  reading: async (page) => {
    const bytes = capture({ pairs: 2000 });
    await choose(
      page,
      [1, 2, 3].map((i) => asFile(`${i}.xplane.pb`, bytes)),
    );
    await untilState(page, 'reading');
  },
  'several files': async (page) => {
    await choose(page, [
      asFile('a.xplane.pb', made),
      asFile('b.xplane.pb', made),
      asFile('c.pdf', Buffer.from('%PDF-1.7')),
    ]);
    await untilState(page, 'done');
  },
  compare: async (page) => {
    await choose(page, [asFile('a.xplane.pb', made), asFile('b.xplane.pb', made)]);
    await untilState(page, 'done');
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
  },
};
/** @param {import('playwright-core').Page} page @param {string} view */
async function toView(page, view) {
  await page.evaluate((v) => (location.hash = `#view=${v}`), view);
  await page.waitForTimeout(300);
}

const profiles = join(root, 'tests/fixtures/memory_profile');

states.text = async (page) => {
  const file = sharedFile('plans/tpu/llama7b_remat.compile_oom.txt');
  if (!file) return;
  await choose(page, file);
  await untilState(page, 'done');
  await toView(page, 'text');
};
states.profile = async (page) => {
  await choose(page, join(profiles, 'keep-after.prof'));
  await untilState(page, 'done');
  await toView(page, 'profile');
  await page.getByRole('button', { name: 'Details' }).first().click();
};
states['two profiles'] = async (page) => {
  await choose(page, [join(profiles, 'keep-before.prof'), join(profiles, 'keep-after.prof')]);
  await untilState(page, 'done');
  await page.getByRole('table', { name: /Growth/ }).waitFor();
};
for (const view of ['summary', 'text', 'profile', 'capture']) {
  states[`evidence beside a capture, ${view}`] = async (page) => {
    const error = 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4194304 bytes.';
    await choose(page, [
      asFile('error.txt', Buffer.from(error)),
      asFile('a.xplane.pb', made),
      asFile('memory.prof', readFileSync(join(profiles, 'keep-after.prof'))),
    ]);
    await untilState(page, 'done');
    await toView(page, view);
  };
}
for (const view of ['summary', 'findings', 'whatif', 'plan', 'run', 'capture']) {
  states[view] = async (page) => {
    const file = sharedFile(
      view === 'run' ? 'scenarios/s2_gradients_kept.xplane.pb' : 'scenarios/s1_plan_too_large.xplane.pb',
    );
    if (!file) return;
    await choose(page, file);
    await untilState(page, 'done');
    await page.evaluate((v) => (location.hash = `#view=${v}`), view);
    await page.waitForTimeout(300);
    for (const button of (await page.getByRole('button', { name: 'Details' }).all()).slice(0, 2)) await button.click();
    for (const more of await page.locator('main details > summary').all()) await more.click();
  };
}

for (const [state, reach] of Object.entries(states)) {
  for (const [colorScheme, width] of /** @type {const} */ ([
    ['light', 1440],
    ['dark', 390],
  ])) {
    test(`axe finds nothing: ${state}, ${colorScheme}, ${width} px`, async () => {
      const { page, context } = await openPage({
        context: { colorScheme, viewport: { width, height: 900 } },
        init: state === 'reading' ? endless(100_000) : '',
      });
      await reach(page);
      assert.deepEqual(await findings(page), []);
      await context.close();
    });
  }
}

test('every control of a report is reached by Tab, and what has the focus can be seen', async () => {
  const file = sharedFile('scenarios/s1_plan_too_large.xplane.pb');
  if (!file) return;
  const { page, context } = await openPage();
  await choose(page, file);
  await untilState(page, 'done');
  /** @type {string[]} */
  const reached = [];
  for (let i = 0; i < 50; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!(e instanceof HTMLElement) || e === document.body) return null;
      const shown = e.closest('.chooser') ?? e;
      const style = getComputedStyle(shown);
      return { name: e.getAttribute('aria-label') ?? e.innerText.trim(), outline: style.outlineStyle !== 'none' };
    });
    // Past the end the browser's own controls follow, then the page again.
    if (at === null) continue;
    assert.ok(at.outline, `${at.name} has the focus and does not show it`);
    reached.push(at.name);
  }
  for (const name of ['Choose captures', 'Download JSON', 'More', 'Findings', 'Plan', 'Capture']) {
    assert.ok(
      reached.some((r) => r.startsWith(name)),
      `${name} is not reached: ${reached.join(', ')}`,
    );
  }
  await context.close();
});

test('nothing moves where the reader wants it still', async () => {
  const { page, context } = await openPage({ context: { reducedMotion: 'reduce' } });
  await choose(page, [asFile('a.xplane.pb', made)]);
  await untilState(page, 'done');
  const moving = await page.evaluate(
    () => [...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length,
  );
  assert.equal(moving, 0);
  await context.close();
});
