// Names in a capture are anyone's bytes: the page shows them as text, whatever they hold.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, openPage, untilState } from './harness.mjs';
import { asFile, capture, HOSTILE } from './made.mjs';

after(closeBrowser);

const bytes = capture({
  module: HOSTILE.bidi + HOSTILE.markup,
  host: HOSTILE.nul,
  pythonFrame: HOSTILE.long,
  pairs: 40,
  buffers: Object.values(HOSTILE).map((name) => ({
    name,
    opName: `jit(step)/jvp(${name})/layer/mul`,
    file: `/home/${name}/a.py`,
    elements: 1 << 20,
  })),
});

/** What a reader cannot see, or what changes how its surroundings read. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNSEEN = /[\0-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]/;
const fileName = `a<img src=x onerror=globalThis.pwned=1>\u202Ebp.xplane.pb`;

for (const view of ['summary', 'findings', 'whatif', 'plan', 'run', 'capture']) {
  test(`${view}: markup, overrides, NUL and 100 kB names are shown as text`, async () => {
    const { page, context, requests, complaints } = await openPage({ hash: `#view=${view}` });
    await choose(page, [asFile(fileName, bytes)]);
    await untilState(page, 'done');
    // Everything that opens is opened.
    for (const button of await page.getByRole('button', { name: 'Details' }).all()) await button.click();
    for (const more of await page.locator('main details > summary').all()) await more.click();
    const seen = await page.evaluate(() => ({
      pwned: 'pwned' in globalThis,
      made: document.querySelectorAll('main img, main script, main iframe, header img, header script').length,
      text: document.body.innerText,
      attributes: [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].map((a) => a.value)).join('\n'),
      // What a name makes of its line ends with the name.
      loose: [...document.querySelectorAll('main .name')].filter((e) => e.querySelector('bdi') === null).length,
      wide: document.documentElement.scrollWidth - innerWidth,
      title: document.title,
    }));
    assert.equal(seen.pwned, false);
    assert.equal(seen.made, 0);
    assert.equal(seen.loose, 0);
    assert.ok(seen.wide <= 0, `${seen.wide} px too wide`);
    assert.doesNotMatch(seen.text, UNSEEN);
    assert.doesNotMatch(seen.title, UNSEEN);
    assert.doesNotMatch(seen.attributes, UNSEEN);
    if (view === 'plan') {
      assert.ok(seen.text.includes('<img src=x'));
      assert.ok(seen.text.includes('⟨U+202E⟩'));
      assert.ok(seen.text.includes('⟨U+0000⟩'));
    }
    assert.ok(seen.text.length < 400_000, `${seen.text.length} characters are shown`);
    assert.deepEqual(requests, []);
    assert.deepEqual(complaints, []);
    await context.close();
  });
}

test('of a name of 100 kB there is for who asks what the core keeps: 1024 bytes, and that there was more', async () => {
  const { page, context } = await openPage({ hash: '#view=plan' });
  await choose(page, [asFile('a.xplane.pb', bytes)]);
  await untilState(page, 'done');
  for (const button of await page.getByRole('button', { name: 'Details' }).all()) await button.click();
  const all = page.getByRole('button', { name: /^all 1,02\d characters$/ }).first();
  await all.click();
  assert.match(await page.locator('.whole').first().innerText(), /^.{1020,1030}…$/s);
  await context.close();
});
