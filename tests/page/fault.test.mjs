// A fault of the core's own (a trap) costs the file that met it, not the page.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { choose, closeBrowser, inWorkers, openPage, sharedFile, untilState } from './harness.mjs';

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
