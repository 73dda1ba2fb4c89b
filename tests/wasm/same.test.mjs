// The core in the page and the command line say the same of every shared file, byte for byte.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/page.mjs';
import { shared } from '../shared.mjs';
import { open } from './core.mjs';

const program = process.env.OOMSCOPE_BIN ?? join(root, 'target/release/oomscope');

/** @param {string} file */
function commandLine(file) {
  const { stdout, stderr, status } = spawnSync(program, [file, '--json', '-'], {
    maxBuffer: 1 << 30,
    encoding: 'utf8',
  });
  return status === 1 ? { refused: stderr.trim() } : { json: stdout };
}

const folders = ['captures/made', 'captures/public', 'scenarios', 'plans/cuda', 'plans/tpu', 'plans/scenarios'];
for (const folder of folders) {
  const path = join(shared, folder);
  const files = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.pb')) : [];
  test(`${folder}: ${files.length} files`, () => {
    if (files.length === 0) return console.log(`skipped: ${folder} is not there`);
    for (const name of files) {
      const file = join(path, name);
      const said = commandLine(file);
      try {
        const capture = open(new Uint8Array(readFileSync(file)), basename(file));
        const json = capture.text('json');
        capture.free();
        assert.ok(
          json === said.json,
          `${name}: the two JSON files differ, or the command line refused: ${said.refused}`,
        );
      } catch (error) {
        if (typeof error !== 'string') throw error;
        assert.ok(
          said.refused?.endsWith(error),
          `${name}: the page refuses it (${error}), the command line: ${said.refused}`,
        );
      }
    }
  });
}
