// Whether the index.html that is kept in git is the one that its sources make. Where the tools are the same as those it
// was made with, so must be its bytes; the page was built just before.
//   node scripts/fresh.mjs
//   node scripts/fresh.mjs --built   only whether the page is there and of these sources, in git or not
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { metaOf, page, root, sourcesHash } from './page.mjs';

const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', args, { cwd: root, maxBuffer: 1 << 30, encoding: 'utf8' });

if (process.argv.includes('--built')) {
  const current = existsSync(page) && metaOf(readFileSync(page, 'utf8'), 'sources') === sourcesHash();
  if (!current) console.error('index.html is missing or older than its sources: npm run build');
  process.exit(current ? 0 : 1);
}

if (!git('ls-files', 'index.html')) {
  console.log('index.html is not kept in git: nothing to compare');
  process.exit(0);
}
const kept = git('show', ':index.html');
const built = readFileSync(page, 'utf8');
if (metaOf(kept, 'sources') !== sourcesHash()) {
  console.error('index.html in git is older than its sources: npm run build, and commit it');
  process.exit(1);
}
if (metaOf(kept, 'built-with') !== metaOf(built, 'built-with')) {
  console.log(
    `index.html in git was made by ${metaOf(kept, 'built-with')}, here by ${metaOf(built, 'built-with')}: bytes not compared`,
  );
} else if (kept !== built) {
  console.error('index.html in git is not what its sources make with these tools: npm run build, and commit it');
  process.exit(1);
} else {
  console.log('index.html in git is what its sources make');
}
