import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sharedFile } from '../shared.mjs';
import { open, reads } from './core.mjs';

test('the sizes of the chunks make no difference', () => {
  const file = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
  if (!file) return;
  const bytes = new Uint8Array(readFileSync(file));
  const whole = open(bytes, 'a.xplane.pb', (left) => left).report();
  let seed = 1;
  const random = () => {
    seed = (seed * 48271) % 2147483647;
    return 1 + (seed % 5000);
  };
  for (const chunk of [() => 97, () => 4096, random, () => 1 << 20]) {
    assert.deepEqual(open(bytes, 'a.xplane.pb', chunk).report(), whole);
  }
});

test('hops through the index cost few reads', () => {
  const file = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
  if (!file) return;
  const bytes = new Uint8Array(readFileSync(file));
  const before = reads.count;
  open(bytes, 'a.xplane.pb').report();
  assert.ok(reads.count - before <= Math.ceil(bytes.length / (64 << 10)), `${reads.count - before} reads`);
});
