// How long the page's worker takes for whole captures, beside the floor: a worker that only adds up the same bytes as
// they come out of `blob.stream()`. Runs are interleaved, medians are told. A folder is dropped on the page whole: the
// time is that until its table stands there, and beside it the longest that the page kept a frame waiting.
//   node benches/page/bench.mjs [--runs 7] [--browser chromium|firefox] [--json out.json] FILE|FOLDER...
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import puppeteer from 'puppeteer-core';
import { addressOf, browserPath, closeBrowser } from '../../tests/page/harness.mjs';

const { values: flags, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '7' },
    browser: { type: 'string', multiple: true, default: ['chromium', 'firefox'] },
    json: { type: 'string' },
  },
});
if (files.length === 0) throw new Error('name one capture or more');

/**
 * Runs inside the page.
 * @param {string} what
 * @returns {Promise<{ milliseconds: number, memory: number }>}
 */
async function once(what) {
  const input = /** @type {HTMLInputElement | null} */ (document.querySelector('#bench'));
  const blob = input?.files?.[0];
  const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? '';
  if (!blob) throw new Error('no file');
  const floor = `onmessage = async ({ data: blob }) => {
    let sum = 0;
    const reader = blob.stream().getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (let i = 0; i < value.length; i++) sum = (sum + value[i]) | 0;
    }
    postMessage({ type: 'opened', sum });
  };`;
  // Makes the core's memory visible: it is asked for after the last capture.
  const before = `{
    const { Instance } = WebAssembly;
    WebAssembly.Instance = function (...given) {
      const instance = new Instance(...given);
      globalThis.benchMemory = () => instance.exports.memory.buffer.byteLength;
      return instance;
    };
    addEventListener('message', ({ data }) => {
      if (data === 'memory') postMessage({ type: 'memory', memory: benchMemory() });
    });
  }`;
  const script = what === 'floor' ? floor : before + text('worker');
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  /** @param {string} type */
  const reply = (type) =>
    new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.type === type) resolve(data);
        else if (data.type === 'refused' || data.type === 'fault') reject(new Error(data.message));
      };
      worker.onerror = (event) => reject(new Error(event.message));
    });
  let memory = 0;
  let start = 0;
  if (what === 'floor') {
    await new Promise((resolve) => setTimeout(resolve, 100));
    start = performance.now();
    worker.postMessage(blob);
    await reply('opened');
  } else {
    worker.postMessage({ type: 'unpack', packed: text('engine') });
    const { engine } = /** @type {{ engine: WebAssembly.Module }} */ (await reply('engine'));
    worker.postMessage({ type: 'start', engine });
    await new Promise((resolve) => setTimeout(resolve, 500)); // the browser goes on optimising the code
    start = performance.now();
    worker.postMessage({ type: 'open', capture: 1, blob, name: blob.name });
    await reply('opened');
  }
  const milliseconds = performance.now() - start;
  if (what !== 'floor') {
    const told = reply('memory');
    worker.postMessage('memory');
    ({ memory } = /** @type {{ memory: number }} */ (await told));
  }
  worker.terminate();
  return { milliseconds, memory };
}

/**
 * Files given to the page as a reader gives them.
 * @param {import('puppeteer-core').Page} page
 * @param {string[]} paths
 */
async function wholePage(page, paths) {
  await page.goto(await addressOf('file'));
  await new Promise((resolve) => setTimeout(resolve, 1500)); // until the core is compiled
  const chooser = await page.evaluateHandle(() => {
    const seen = { started: 0, over: 0, last: 0, longest: 0 };
    Object.assign(globalThis, { seen });
    const input = Array.from(document.querySelectorAll('input')).find((i) => i.type === 'file' && i.multiple);
    // Before the page hears of them.
    addEventListener(
      'change',
      () => Object.assign(seen, { started: performance.now(), last: performance.now() }),
      true,
    );
    const frame = (/** @type {number} */ now) => {
      if (seen.started > 0 && seen.over === 0) {
        seen.longest = Math.max(seen.longest, now - seen.last);
        seen.last = now;
        if (['done', 'error'].includes(document.documentElement.dataset.state ?? '')) seen.over = performance.now();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return input ?? null;
  });
  const input = chooser.asElement();
  if (!input) throw new Error('the page has no chooser for several files');
  await /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (input).uploadFile(...paths);
  await page.waitForFunction(() => /** @type {any} */ (globalThis).seen.over > 0, { timeout: 600_000 });
  const { seen, state } = await page.evaluate(() => ({
    seen: /** @type {any} */ (globalThis).seen,
    state: document.documentElement.dataset.state,
  }));
  if (state !== 'done') throw new Error('none of the files could be read');
  return { milliseconds: seen.over - seen.started, longest: seen.longest };
}

/** @param {number[]} values */
const median = (values) => values.slice().sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const results = [];
for (const name of flags.browser) {
  const kind = name === 'firefox' ? 'firefox' : 'chromium';
  const browser = await puppeteer.launch({
    browser: kind === 'firefox' ? 'firefox' : 'chrome',
    executablePath: browserPath(kind),
    headless: true,
    protocolTimeout: 600_000,
    args: kind === 'chromium' && process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  const version = await browser.version();
  for (const file of files) {
    const page = await browser.newPage();
    if (statSync(file).isDirectory()) {
      const paths = readdirSync(file, { recursive: true, encoding: 'utf8' })
        .map((f) => join(file, f))
        .filter((f) => statSync(f).isFile());
      const runs = [];
      for (let run = 0; run < Number(flags.runs); run++) runs.push(await wholePage(page, paths));
      await page.close();
      const ours = runs.map((r) => r.milliseconds);
      const frame = median(runs.map((r) => r.longest));
      const bytes = paths.reduce((n, f) => n + statSync(f).size, 0);
      results.push({
        browser: version,
        file: paths.length === 1 ? basename(paths[0] ?? '') : `${paths.length} captures in one drop`,
        bytes,
        ours,
        frame,
      });
      console.log(
        `${version}  ${paths.length} files: ours ${median(ours).toFixed(0)} ms, longest frame ${frame.toFixed(0)} ms`,
      );
      continue;
    }
    await page.goto(await addressOf('file'));
    await page.evaluate(() => {
      const input = document.createElement('input');
      input.type = 'file';
      input.id = 'bench';
      document.body.append(input);
    });
    const input = await page.$('#bench');
    await /** @type {import('puppeteer-core').ElementHandle<HTMLInputElement>} */ (input).uploadFile(file);
    const floor = [];
    const ours = [];
    let memory = 0;
    for (let run = 0; run < Number(flags.runs); run++) {
      floor.push((await page.evaluate(once, 'floor')).milliseconds);
      const whole = await page.evaluate(once, 'whole');
      ours.push(whole.milliseconds);
      memory = Math.max(memory, whole.memory);
    }
    await page.close();
    const bytes = statSync(file).size;
    const row = {
      browser: version,
      file: basename(file),
      bytes,
      floor,
      ours,
      ratio: median(ours) / median(floor),
      memory,
    };
    results.push(row);
    console.log(
      `${version}  ${row.file}  ${(bytes / 1e6).toFixed(1)} MB: floor ${median(floor).toFixed(0)} ms, ` +
        `ours ${median(ours).toFixed(0)} ms, ratio ${row.ratio.toFixed(2)}, memory ${(memory / 1e6).toFixed(0)} MB`,
    );
  }
  await browser.close();
}
await closeBrowser();
const machine = `${os.cpus()[0]?.model}, ${os.cpus().length} cores, ${os.type()} ${os.release()}`;
console.log(machine);
if (flags.json) writeFileSync(flags.json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
