// The documentation beside the page, and what a copy of the page says of newer ones.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { page as built, metaOf, root } from '../../scripts/page.mjs';
import { browser, closeBrowser } from './harness.mjs';

const folder = mkdtempSync(join(tmpdir(), 'oomscope-'));
after(async () => {
  await closeBrowser();
  rmSync(folder, { recursive: true });
});

test('every page of the documentation opens from the disk, has a title, and is readable on a telephone, dark too', async () => {
  const out = join(folder, 'site');
  // Dead links fail it.
  execFileSync('node', ['scripts/site.mjs', '--out', out], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const pages = readdirSync(join(out, 'docs')).filter((name) => name.endsWith('.html'));
  assert.ok(pages.length > 12, String(pages));
  const context = await (await browser()).newContext({
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
  });
  const page = await context.newPage();
  /** @type {string[]} */
  const wrong = [];
  const titles = new Set();
  page.on('request', (request) => {
    if (!request.url().startsWith(pathToFileURL(out).href) && !request.url().startsWith('blob:'))
      wrong.push(`asks for ${request.url()}`);
  });
  page.on('console', (message) => wrong.push(message.text()));
  for (const name of pages) {
    await page.goto(pathToFileURL(join(out, 'docs', name)).href);
    titles.add(await page.title());
    const seen = await page.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      headings: document.querySelectorAll('h1').length,
      back: getComputedStyle(document.body).backgroundColor,
    }));
    assert.ok(seen.width <= 390, `${name} is ${seen.width} wide`);
    assert.equal(seen.headings, 1, name);
    assert.equal(seen.back, 'rgb(20, 24, 28)', name);
  }
  assert.equal(titles.size, pages.length, 'each page has a title of its own');
  await page.getByRole('link', { name: 'oomscope' }).first().click();
  assert.equal(await page.title(), 'oomscope');
  assert.deepEqual(wrong, []);
  await context.close();
});

test('a saved copy tells its version, and where the newest lives if it was told', async () => {
  const html = readFileSync(built, 'utf8');
  const context = await (await browser()).newContext();
  const page = await context.newPage();
  for (const [home, wanted] of [
    ['', /newer versions are where you got it from/],
    ['https://example.org/oomscope/', /Newest version and documentation/],
  ]) {
    const copy = join(folder, 'copy.html');
    writeFileSync(copy, html.replace(/(<meta name="oomscope-home" content=")[^"]*/, `$1${home}`));
    await page.goto(pathToFileURL(copy).href);
    const foot = page.getByRole('contentinfo');
    await foot.waitFor();
    const text = await foot.innerText();
    assert.ok(text.includes(`oomscope ${metaOf(html, 'version')}`), text);
    assert.match(text, /** @type {RegExp} */ (wanted));
    if (home) assert.equal(await foot.getByRole('link').getAttribute('href'), home);
  }
  await context.close();
});
