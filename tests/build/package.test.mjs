// What would be published: the npm package is the page and a way to serve it, and both packages are of one version.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/page.mjs';

test('the npm package holds the page and what serves it, and nothing else', () => {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--loglevel=error'], {
    cwd: root,
    encoding: 'utf8',
  });
  const [{ files }] = JSON.parse(said);
  assert.deepEqual(files.map((/** @type {{ path: string }} */ file) => file.path).sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'index.html',
    'package.json',
    'scripts/page.mjs',
    'scripts/serve.mjs',
  ]);
});

test('the crate and the npm package have one version', () => {
  const crate = /^version = "(.*)"$/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1];
  assert.equal(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version, crate);
});
