// Captures that lie beside the project, for tests in JavaScript.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/page.mjs';

/** Their folder; absent where the project stands alone. */
export const shared = join(root, '../shared');

/**
 * A shared file, or null (and a line that says so) where it is absent.
 * @param {string} path
 */
export function sharedFile(path) {
  const file = join(shared, path);
  if (existsSync(file)) return file;
  console.log(`skipped: ${path} is not there`);
  return null;
}
