/** What stands beside a capture, and what of a file could. */

import type { BesideKind, Capture } from '../../client';

/** Whether other evidence can stand beside it: it has a plan or a run of its own. */
export const isCapture = (c: Capture): boolean => besideOf(c) === null && c.report.text_plan === null;

export const isProfile = (c: Capture): boolean => besideOf(c) === 'profile';

/** What a file that was read by itself would be beside a capture. */
export function besideOf(c: Capture): BesideKind | null {
  const { kind } = c.report.source;
  return kind === 'error_text' ? 'text' : kind === 'memory_profile' ? 'profile' : null;
}
