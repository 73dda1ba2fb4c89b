// A fault of the core's own (a trap) costs the file that met it, not the page.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, downloadJson, inWorkers, openPage, sharedFile, untilState } from './harness.mjs';
import { asFile, capture } from './made.mjs';

after(closeBrowser);

/**
 * Runs in each worker before its own script: traps in every file of more than `most` bytes, as a panic would.
 * @param {number} most
 */
function trapAbove(most) {
  const { Instance } = WebAssembly;
  const { slice } = Blob.prototype;
  let large = false;
  Blob.prototype.slice = function (...range) {
    large = this.size > most;
    return slice.apply(this, range);
  };
  // @ts-expect-error: returns an object like a real one
  WebAssembly.Instance = function (module, imports) {
    const real = new Instance(module, imports);
    const wants = /** @type {(...given: unknown[]) => unknown} */ (real.exports.opening_wants);
    const opening_wants = (/** @type {unknown[]} */ ...given) => {
      if (!large) return wants(...given);
      // @ts-expect-error: of the worker
      globalThis.oomscopeFault('panicked at made-up.rs: a fault of this test');
      throw new WebAssembly.RuntimeError('unreachable');
    };
    return { exports: { ...real.exports, opening_wants } };
  };
}

/** @param {number} bytes */
const openFaulty = (bytes) => openPage({ init: inWorkers(`(${trapAbove})(${bytes});`) });

test('the page says that a file met a fault, and reads the next', async () => {
  const small = sharedFile('captures/public/cpu-exla-2024.xplane.pb');
  const large = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
  if (!small || !large) return;
  const { page, context } = await openFaulty(100_000);
  await choose(page, large);
  await untilState(page, 'error');
  const text = await page.locator('body').innerText();
  assert.match(text, /a fault of its own: panicked at made-up\.rs/);
  await choose(page, small);
  await untilState(page, 'done');
  assert.doesNotMatch(await page.locator('body').innerText(), /made-up/);
  await context.close();
});

const made = capture({
  buffers: [1, 2, 3].map((i) => ({
    name: `mul.${i}`,
    opName: 'jit(f)/jvp(g)/mul',
    file: '/a/b.py',
    elements: 1 << 20,
  })),
});

/** Runs in each worker before its own script: there is no memory for any file. */
function noMemory() {
  const { Instance } = WebAssembly;
  // @ts-expect-error: returns an object like a real one
  WebAssembly.Instance = function (module, imports) {
    const real = new Instance(module, imports);
    const opening_wants = () => {
      // As the core does where the machine gives no more: it says nothing.
      throw new WebAssembly.RuntimeError('unreachable');
    };
    return { exports: { ...real.exports, opening_wants } };
  };
}

test('a file that takes more memory than there is gets a sentence, not a fault', async () => {
  const { page, context } = await openPage({ init: inWorkers(`(${noMemory})();`) });
  await choose(page, [asFile('made.xplane.pb', made)]);
  await untilState(page, 'error');
  const text = await page.locator('body').innerText();
  assert.match(text, /more memory than a browser gives to a page/);
  assert.match(text, /command line/);
  assert.doesNotMatch(text, /fault|report this/);
  await context.close();
});

/** Runs in each worker before its own script: whoever asks for a moment of the plan meets a trap. */
function trapAtMoments() {
  const { Instance } = WebAssembly;
  // @ts-expect-error: returns an object like a real one
  WebAssembly.Instance = function (module, imports) {
    const real = new Instance(module, imports);
    const capture_planAt = () => {
      // @ts-expect-error: of the worker
      globalThis.oomscopeFault('panicked at made-up.rs: a fault of this test');
      throw new WebAssembly.RuntimeError('unreachable');
    };
    return { exports: { ...real.exports, capture_planAt } };
  };
}

test('a fault at a question costs that question: the next reads the file again, with what stood beside it', async () => {
  const { page, context } = await openPage({ init: inWorkers(`(${trapAtMoments})();`) });
  const error = 'RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12582912 bytes.';
  await choose(page, [asFile('made.xplane.pb', made), asFile('error.txt', Buffer.from(error))]);
  await page.locator('.your-error', { hasText: 'temp block' }).waitFor();
  await page.evaluate(() => (location.hash = '#view=plan&event=1'));
  await page.getByText(/a fault of its own: panicked at made-up\.rs/).waitFor();
  const saved = JSON.parse(String((await downloadJson(page)).bytes));
  assert.equal(saved.error_text.matched.request[0].bytes, 12582912);
  await context.close();
});

test('a fault of one view leaves the others', async () => {
  const { page, context } = await openPage({
    init: `HTMLCanvasElement.prototype.getContext = () => { throw new Error('no canvas today'); };`,
  });
  await choose(page, [asFile('made.xplane.pb', made)]);
  await page.getByRole('navigation').getByText('Plan').click();
  await page.getByText(/This view stopped at a fault of its own: no canvas today/).waitFor();
  await page.getByRole('link', { name: 'Capture', exact: true }).click();
  await page.getByRole('heading', { name: 'What was read' }).waitFor();
  await page.goBack();
  await page.goBack();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal((await downloadJson(page)).name, 'made.xplane.pb.oomscope.json');
  await context.close();
});
