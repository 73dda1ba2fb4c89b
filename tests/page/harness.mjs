// What the page tests share: the built page in a real browser, from the disk and from localhost, with every request noted.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { page as built, root } from '../../scripts/page.mjs';
import { serve } from '../../scripts/serve.mjs';

/** @param {'chromium' | 'firefox'} name */
function browserPath(name) {
  const path = execFileSync('bash', ['-c', `. scripts/env.sh; ${name}_path || true`], {
    cwd: root,
    encoding: 'utf8',
  }).trim();
  if (!path)
    throw new Error(
      `no ${name} on this machine: run scripts/setup.sh test, or name one by OOMSCOPE_${name.toUpperCase()}`,
    );
  return path;
}

const asRoot = process.getuid?.() === 0;

/** @type {Promise<import('playwright-core').Browser> | null} */
let launched = null;

/** The one Chromium of this test file. */
export function browser() {
  launched ??= chromium.launch({
    executablePath: browserPath('chromium'),
    args: asRoot ? ['--no-sandbox'] : [],
  });
  return launched;
}

/** To be called after the last test of a file. */
export async function closeBrowser() {
  await (await launched)?.close();
  launched = null;
  served?.server.close();
  served = null;
}

/** @type {{ server: import('node:http').Server, address: string } | null} */
let served = null;

/**
 * Where the built page can be opened.
 * @param {'file' | 'localhost'} from
 */
export async function addressOf(from) {
  if (!existsSync(built)) throw new Error('index.html is missing: npm run build');
  if (from === 'file') return pathToFileURL(built).href;
  served ??= await serve(0);
  return served.address;
}

/** How many times slower than this machine the page is to run: what passes only on a quick one has a race in it. */
export const slower = Number(process.env.OOMSCOPE_SLOWER ?? 1);

/**
 * A window whose gestures end when the page has shown what they led to: it does so once a frame.
 * @param {import('playwright-core').BrowserContext} context
 */
export async function newPage(context) {
  const page = await context.newPage();
  if (slower > 1) {
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slower });
    // Frames come late as well.
    await page.addInitScript((late) => {
      const frame = requestAnimationFrame.bind(globalThis);
      globalThis.requestAnimationFrame = (f) => frame(() => setTimeout(() => f(performance.now()), late));
    }, 20 * slower);
  }
  for (const hand of [page.keyboard, page.mouse, page.touchscreen, Object.getPrototypeOf(page.locator('html'))])
    untilShown(hand, (locator) => locator.page?.() ?? page);
  return page;
}

const gestures = ['check', 'click', 'dblclick', 'down', 'fill', 'focus', 'hover', 'move', 'press', 'selectOption'];
gestures.push('setInputFiles', 'tap', 'type', 'uncheck', 'up', 'wheel');
const patient = new WeakSet();

/**
 * Makes the gestures of this object wait for two frames: one that shows the change, one that follows it.
 * @param {any} hand
 * @param {(hand: any) => import('playwright-core').Page} pageOf
 */
function untilShown(hand, pageOf) {
  if (patient.has(hand)) return;
  patient.add(hand);
  for (const name of gestures) {
    const gesture = hand[name];
    if (typeof gesture !== 'function') continue;
    hand[name] = async function (/** @type {any[]} */ ...given) {
      const result = await gesture.apply(this, given);
      await pageOf(this)
        .evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))
        .catch(() => {}); // the gesture led to another page
      return result;
    };
  }
}

/**
 * The page, opened in a window of its own.
 * @param {object} [options]
 * @param {'file' | 'localhost'} [options.from]
 * @param {import('playwright-core').BrowserContextOptions} [options.context]
 * @param {string} [options.hash] the address's fragment, with its `#`
 * @param {string} [options.init] a script that runs before those of the page
 */
export async function openPage({ from = 'file', context: settings = {}, hash = '', init = '' } = {}) {
  const context = await (await browser()).newContext({ acceptDownloads: true, ...settings });
  const page = await newPage(context);
  if (init) await page.addInitScript(init);
  /** Addresses asked for, but for the page itself and its workers and downloads from memory. @type {string[]} */
  const requests = [];
  /** What the console said that should never be said. @type {string[]} */
  const complaints = [];
  const address = (await addressOf(from)) + hash;
  page.on('request', (request) => {
    const url = request.url();
    if (url !== address.replace(/#.*/, '') && !/^(blob|data):/.test(url)) requests.push(url);
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.goto(address);
  return { page, context, requests, complaints, address };
}

/**
 * A script for {@link openPage} that makes every worker of the page run this code before its own.
 * @param {string} code
 */
export function inWorkers(code) {
  return `{
    const before = ${JSON.stringify(code)};
    const { createObjectURL } = URL;
    URL.createObjectURL = (blob) =>
      createObjectURL(blob.type === 'text/javascript' ? new Blob([before, blob], { type: blob.type }) : blob);
  }`;
}

/**
 * A script for {@link openPage}: in the page's workers, files of more than `most` bytes never end.
 * @param {number} most
 */
export function endless(most) {
  return inWorkers(`const { stream } = Blob.prototype;
    Blob.prototype.stream = function () {
      return this.size > ${most} ? new ReadableStream() : stream.call(this);
    };`);
}

/**
 * Waits until the page is in one of these states.
 * @param {import('playwright-core').Page} page
 * @param {...('empty' | 'reading' | 'done' | 'error')} states
 */
export async function untilState(page, ...states) {
  await page.waitForFunction(
    (wanted) => wanted.some((state) => state === document.documentElement.dataset.state),
    states,
  );
}

/**
 * Gives files to the file chooser.
 * @param {import('playwright-core').Page} page
 * @param {string | string[] | { name: string, mimeType: string, buffer: Buffer }[]} files
 */
export async function choose(page, files) {
  await page.getByLabel('Choose captures').setInputFiles(files);
}

/**
 * Drops files on the page, as from a file manager.
 * @param {import('playwright-core').Page} page
 * @param {(string | { name: string, bytes: Uint8Array })[]} files
 */
export async function drop(page, files) {
  const contents = files.map((file) =>
    typeof file === 'string'
      ? { name: basename(file), base64: readFileSync(file).toString('base64') }
      : { name: file.name, base64: Buffer.from(file.bytes).toString('base64') },
  );
  await page.evaluate((contents) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of contents) {
      transfer.items.add(new File([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], name));
    }
    for (const type of ['dragenter', 'dragover', 'drop']) {
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }
  }, contents);
}

/**
 * Drops files or folders of the disk, as the browser itself does it.
 * @param {import('playwright-core').Page} page
 * @param {string[]} paths
 */
export async function dropFromDisk(page, paths) {
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of /** @type {const} */ (['dragEnter', 'dragOver', 'drop'])) {
    await devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  }
}

/**
 * The file that the button `Download JSON` saves.
 * @param {import('playwright-core').Page} page
 */
export async function downloadJson(page) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download JSON' }).first().click(),
  ]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/**
 * The JSON that the command line writes for a file.
 * @param {string} file
 * @param {string[]} [more]
 */
export function commandLineJson(file, more = []) {
  const program = process.env.OOMSCOPE_BIN ?? join(root, 'target/release/oomscope');
  return execFileSync(program, [file, '--json', '-', ...more], {
    maxBuffer: 1 << 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

export { shared, sharedFile } from '../shared.mjs';
export { browserPath, root };
