import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sample, samples, selfTest } from '../../pkg/oomscope.js';
import { sharedFile } from '../shared.mjs';
import { open } from './core.mjs';

test('every check of the self-test passes', () => {
  const checks = selfTest();
  assert.ok(checks.length > 20, `${checks.length} checks`);
  for (const check of checks) assert.ok(check.passed, `${check.name}: ${check.detail}`);
});

test('the samples are captures of a host called synthetic', () => {
  const made = samples();
  assert.equal(made.length, 3);
  for (const { id, title } of made) {
    assert.ok(title.length > 10);
    const report = open(new Uint8Array(sample(id)), `${id}.xplane.pb`).report();
    assert.equal(report.source.host, 'synthetic');
    assert.ok(report.findings.length > 0);
  }
  assert.throws(
    () => sample('nothing'),
    (error) => error === 'there is no such sample',
  );
});

test('the moment of the peak is the peak', () => {
  const file = sharedFile('captures/made/cpu-jax0.10.2-gpt_plain.xplane.pb');
  if (!file) return;
  const capture = open(new Uint8Array(readFileSync(file)), 'a.xplane.pb');
  const { peak } = capture.report().plan;
  const moment = capture.planAt(peak.event);
  assert.equal(moment.bytes, peak.bytes);
  assert.equal(moment.instruction, peak.instruction);
  assert.deepEqual(moment.roles, peak.roles);
});

test('a module is found by its name, and one that is not there is refused', () => {
  const file = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
  if (!file) return;
  const capture = open(new Uint8Array(readFileSync(file)), 'a.xplane.pb');
  const report = capture.report('jit_mlp_step');
  assert.match(report.module, /^jit_mlp_step\(\d+\)$/);
  assert.equal(report.module_why, 'asked');
  assert.throws(
    () => capture.report('jit_nothing'),
    (error) => /^there is no module jit_nothing; /.test(String(error)),
  );
});

test('the page gets what the JSON says, with null for what is not known', () => {
  const file = sharedFile('captures/made/cpu-jax0.10.2-mlp.xplane.pb');
  if (!file) return;
  const capture = open(new Uint8Array(readFileSync(file)), 'a.xplane.pb');
  const shown = capture.report();
  const saved = JSON.parse(capture.text('json'));
  // What is saved has shorter lists.
  for (const key of ['schema', 'tool', 'source', 'platform', 'warnings', 'verdict', 'module', 'modules', 'limits']) {
    assert.deepEqual(shown[key], saved[key], key);
  }
});
