/** Two reports side by side: before and after a fix. */

import type { Capture } from '../../client';
import type { Buffer, Evidence, Finding, Report } from '../../generated/report';
import { isCapture, isProfile } from './beside';
import { analysed, deviceSpace, poolOf } from './pool';
import type { Settings } from './route';
import { bareShape, modulePath } from './stack';

/** Of captures those, by position, that have something to compare with the one shown: plans and runs, or profiles. */
export function comparable({ file }: Settings, captures: readonly (Capture | null)[]): number[] {
  const places = (is: (c: Capture) => boolean) => captures.flatMap((c, i) => (c !== null && is(c) ? [i] : []));
  const [own, profiles] = [places(isCapture), places(isProfile)];
  return profiles.length > 1 && (profiles.includes(file) || own.length < 2) ? profiles : own;
}

/** Which of them stand side by side: the one shown after the one chosen, or after the first; null where there are no two. */
export function sides({ file, before }: Settings, of: readonly number[]): { before: number; after: number } | null {
  const [first, second] = of;
  if (first === undefined || second === undefined) return null;
  const after = of.includes(file) ? file : first;
  if (before !== null && of.includes(before)) return { before, after };
  return after === first ? { before: first, after: second } : { before: first, after };
}

/** A number of both; null where one side doesn't have it. */
export interface Pair {
  readonly label: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly unit: 'bytes' | 'count';
  readonly evidence: Evidence;
  /** Which way is better; 0 where neither is. */
  readonly better: -1 | 0 | 1;
}

export const NEED = 'need of the plan';
export const OTHER = 'other live arrays at the last start';

export function numbers(before: Report, after: Report): Pair[] {
  const side = (r: Report) => {
    const module = analysed(r);
    const space = module === null ? null : deviceSpace(module);
    return { module, space, pool: poolOf(r) };
  };
  const a = side(before);
  const b = side(after);
  const bytes = (
    label: string,
    of: (s: ReturnType<typeof side>) => number | null | undefined,
    better: Pair['better'] = -1,
    evidence: Evidence = 'read',
  ): Pair => ({ label, before: of(a) ?? null, after: of(b) ?? null, unit: 'bytes', better, evidence });
  const number_ = (
    label: string,
    of: (s: ReturnType<typeof side>) => number | null | undefined,
    evidence: Evidence = 'read',
  ): Pair => ({
    label,
    evidence,
    before: of(a) ?? null,
    after: of(b) ?? null,
    unit: 'count',
    better: 0,
  });
  return [
    bytes(NEED, (s) => s.space?.need_bytes),
    bytes('parameters', (s) => s.space?.parameters_bytes),
    bytes('of these donated', (s) => s.space?.donated_bytes, 1),
    bytes('outputs', (s) => s.space?.outputs_bytes),
    bytes('constants', (s) => s.space?.constants_bytes),
    bytes('temp', (s) => s.space?.temp_bytes),
    bytes('heap peak', (s) => s.space?.heap_peak_bytes),
    bytes('needed at launch', (s) => s.space?.launch_need_bytes),
    bytes(OTHER, (s) => s.pool?.otherBytes),
    bytes('left in the pool', (s) => s.pool?.leftBytes, 1),
    bytes('pool', (s) => s.pool?.capacityBytes, 0, 'measured'),
    bytes('peak in use', (s) => s.pool?.allocator?.peak_bytes, -1, 'measured'),
    number_('executions, on all devices', (s) => s.module?.executions, 'measured'),
    number_('instructions', (s) => s.module?.instructions),
    number_('rematerialized instructions', (s) => s.module?.rematerialized_instructions),
  ].filter((p) => p.before !== null || p.after !== null);
}

export interface FindingChange {
  readonly change: 'gone' | 'new' | 'still';
  readonly finding: Finding;
}

/** What a finding was and is, matched by its id. That both fit is no news. */
export function findingChanges(before: Report, after: Report): FindingChange[] {
  const had = new Set(before.findings.map((f) => f.id));
  const has = new Set(after.findings.map((f) => f.id));
  return [
    ...before.findings.flatMap((finding): FindingChange[] =>
      has.has(finding.id) ? [] : [{ change: 'gone', finding }],
    ),
    ...after.findings.flatMap((finding): FindingChange[] =>
      !had.has(finding.id)
        ? [{ change: 'new', finding }]
        : finding.severity === 'ok'
          ? []
          : [{ change: 'still', finding }],
    ),
  ];
}

/** Equal buffers of both sides together. */
export interface BufferChange {
  readonly key: string;
  readonly sample: Buffer;
  readonly name: string;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  readonly beforeCount: number;
  readonly afterCount: number;
}

/** Buffers at the peak of both, matched by kind, role, name without numbers, and shape. */
export function bufferChanges(before: Report, after: Report): BufferChange[] {
  const out = new Map<string, { -readonly [K in keyof BufferChange]: BufferChange[K] }>();
  for (const [report, isBefore] of [
    [before, true],
    [after, false],
  ] as const) {
    for (const b of report.plan?.peak?.buffers ?? []) {
      const path = modulePath(b.op_name);
      const name = path.length > 0 ? path.join('/') : b.opcode;
      // Donation moves a buffer from one kind to another: that is a change worth a row, not two.
      const kind = b.kind === 'donated' ? 'parameter' : b.kind;
      const key = `${kind} ${b.role} ${name.replace(/\d+/g, '#')} ${bareShape(b.shape)}`;
      let row = out.get(key);
      if (row === undefined) {
        row = { key, sample: b, name, beforeBytes: 0, afterBytes: 0, beforeCount: 0, afterCount: 0 };
        out.set(key, row);
      }
      if (isBefore) {
        row.beforeBytes += b.bytes * b.count;
        row.beforeCount += b.count;
      } else {
        row.afterBytes += b.bytes * b.count;
        row.afterCount += b.count;
      }
    }
  }
  // Of equal differences the largest buffers first.
  const most = (b: BufferChange) => Math.max(b.beforeBytes, b.afterBytes);
  return [...out.values()].sort((a, b) => most(b) - most(a));
}
