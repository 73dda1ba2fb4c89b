// Nothing is wider than the window: every view of captures whose names and sizes are the most extreme, wide and narrow.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, openPage, sharedFile, untilState } from './harness.mjs';

after(closeBrowser);

const WIDTHS = [1440, 1024, 390];

/** Each with what is extreme in it. */
const CAPTURES = [
  'captures/public/rocm-mi355x-fused-attn.xplane.pb', // the pool is nearly the card, and the need a sliver of it
  'captures/public/tpu-v6e-inference.xplane.pb', // module names of 25 characters, a tick at the very end of the scale
  'captures/made/tf2.21-cpu-bfc-jit.xplane.pb', // words of 50 characters in sentences
  'plans/cuda/gpt_nodonate.hlo.pb', // a plan alone, a tick at the end
  'plans/tpu/llama7b_remat.compile_oom.txt', // a text alone
  'scenarios/s4_fsdp8_fits.xplane.pb', // eight devices, pool and card not far apart
];

/** What sticks out of the window, and names on the scale that lie over each other. @param {import('playwright-core').Page} page */
const wrong = (page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const out = [];
    if (Math.max(scrollWidth, document.body.scrollWidth) > clientWidth) {
      const wide = [...document.querySelectorAll('main *')].filter(
        (e) => e.closest('.scroll') === null && e.getBoundingClientRect().right > clientWidth + 0.5,
      );
      out.push(`${scrollWidth - clientWidth} px too wide: ${wide.at(-1)?.outerHTML.slice(0, 120)}`);
    }
    for (const axis of document.querySelectorAll('.gauge-axis'))
      for (const kind of ['b', 'span']) {
        const boxes = [...axis.querySelectorAll(kind)]
          .map((e) => ({ e, box: e.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 0)
          .sort((a, b) => a.box.left - b.box.left);
        for (const [i, { e, box }] of boxes.entries())
          if (box.left < 0 || box.right > (boxes[i + 1]?.box.left ?? clientWidth) + 1)
            out.push(`${e.textContent} lies over ${boxes[i + 1]?.e.textContent ?? 'the edge'}`);
      }
    return out;
  });

for (const name of CAPTURES) {
  const file = sharedFile(name);
  test(`every view fits its window: ${name}`, { skip: file === null }, async () => {
    const { page, context } = await openPage();
    await choose(page, file ?? '');
    await untilState(page, 'done');
    const links = page.getByRole('navigation').getByRole('link');
    for (const [i, view] of (await links.allInnerTexts()).entries()) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await links.nth(i).click();
      for (const more of await page.locator('main details:not([open]) > summary').all()) await more.click();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
        assert.deepEqual(await wrong(page), [], `${view} at ${width}`);
      }
    }
    await context.close();
  });
}
