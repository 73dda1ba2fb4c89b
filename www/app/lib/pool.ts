/**
 * The pool at the start of the execution that is asked about: what the plan needs, what else is live, and what is left.
 */

import type { Allocator, Evidence, Execution, Module, Report, Retry, Role, Space } from '../../generated/report';
import { POOL, ROLE, ROLES, type Swatch } from './palette';

/** A stretch of the bar. */
export interface Segment {
  readonly id: string;
  readonly swatch: Swatch;
  readonly label: string;
  readonly bytes: number;
  readonly evidence: Evidence;
  /** For temp: its bytes by role, as shares of the heap peak. */
  readonly roles: readonly { role: Role; swatch: Swatch; bytes: number }[];
}

/** The bar: its stretches from left to right and the lines they are measured against. */
export interface Pool {
  readonly module: Module;
  readonly allocator: Allocator | null;
  readonly execution: Execution | null;
  /** What it waited for, where it waited. */
  readonly wait: Retry | null;
  /** The same where enough was free, but in no single piece. */
  readonly scattered: Retry | null;
  readonly segments: readonly Segment[];
  /** What the plan needs by itself. */
  readonly needBytes: number;
  /** The need with what else is live. */
  readonly totalBytes: number;
  readonly otherBytes: number | null;
  readonly capacityBytes: number | null;
  /** What the user gave was not measured. */
  readonly capacityEvidence: Evidence;
  readonly cardBytes: number | null;
  /** Capacity − total: left over where positive, short where negative; null where the capacity is unknown. */
  readonly leftBytes: number | null;
}

/** The totals of the device's own memory. */
export function deviceSpace(module: Module): Space | null {
  return module.spaces.find((s) => s.space === 0) ?? null;
}

/** The module that a report is about. */
export function analysed(report: Report): Module | null {
  return report.modules.find((m) => m.name === report.module) ?? null;
}

/** What stayed free at the tightest moment of an allocator; infinite where its size is unknown. */
function leastFree(a: Allocator): number {
  const { capacity_bytes: capacity, peak_bytes: peak } = a;
  const atPeak = a.free_at_peak_bytes ?? (capacity === null || peak === null ? null : capacity - peak);
  return a.least_free?.bytes ?? atPeak ?? Number.POSITIVE_INFINITY;
}

/** The device allocator that had the least free; where sizes are unknown, the one with the highest peak. */
function fullest(report: Report): Allocator | null {
  return report.allocators
    .filter((a) => a.kind === 'device')
    .reduce<Allocator | null>((most, a) => {
      if (most === null) return a;
      const [free, least] = [leastFree(a), leastFree(most)];
      return free < least || (free === least && (a.peak_bytes ?? 0) > (most.peak_bytes ?? 0)) ? a : most;
    }, null);
}

/** The wait that a verdict is about: the last that failed, else the longest. */
export function gravest(waits: readonly Retry[]): Retry | null {
  return (
    waits.filter((r) => r.outcome === 'failed').at(-1) ??
    waits.reduce<Retry | null>((most, r) => (most !== null && most.duration_ps >= r.duration_ps ? most : r), null)
  );
}

const executionOf = (report: Report, wait: Retry): Execution | null =>
  wait.execution === null ? null : (report.executions[wait.execution] ?? null);

/**
 * The execution of the analysed module that the verdict is about: the last that failed, else the one that waited
 * longest for memory, else the last one on the fullest device.
 */
export function mainExecution(report: Report): Execution | null {
  const module = analysed(report);
  const isMine = (e: Execution) =>
    e.program_id !== null && module !== null
      ? e.program_id === module.program_id
      : e.module !== null && (e.module === report.module || e.module === module?.base_name);
  const mine = report.executions.filter(isMine);
  const waited = gravest(
    report.retries.filter((r) => {
      const execution = executionOf(report, r);
      return execution !== null && isMine(execution);
    }),
  );
  const device = fullest(report)?.name;
  return (
    mine.filter((e) => e.outcome === 'failed').at(-1) ??
    (waited === null ? null : executionOf(report, waited)) ??
    mine.filter((e) => e.allocator === device).at(-1) ??
    mine.at(-1) ??
    null
  );
}

/** The device allocator that an execution took its memory from; without one, that of the fullest device. */
export function allocatorOf(report: Report, execution: Execution | null): Allocator | null {
  return (
    report.allocators.find(
      (a) =>
        a.kind === 'device' &&
        execution !== null &&
        (a.name === execution.allocator || (execution.allocator === null && a.device === execution.device)),
    ) ?? fullest(report)
  );
}

/** The memory of the card that an allocator belongs to. */
export function cardOf(report: Report, allocator: Allocator | null): number | null {
  const { devices } = report.platform;
  return (allocator === null ? devices[0] : devices.find((d) => d.ordinal === allocator.device))?.memory_bytes ?? null;
}

/** The pool of a report; null where it has no plan. */
export function poolOf(report: Report): Pool | null {
  const module = analysed(report);
  const space = module === null ? null : deviceSpace(module);
  if (module === null || space === null) return null;

  const execution = mainExecution(report);
  const allocator = allocatorOf(report, execution);
  const measured = allocator?.capacity_bytes ?? null;
  const capacityBytes = measured ?? report.given.pool_bytes;
  const own = space.parameters_bytes + space.constants_bytes;
  // Parameters are in use when an execution starts; what is in use beyond them is somebody else's.
  const started = execution?.in_use_start_bytes ?? null;
  const otherBytes = started === null ? null : Math.max(0, started - own);

  // What a launch takes beside its plan counts too.
  const copies = report.findings.find((f) => f.id === 'donation-defeated')?.numbers.copied_bytes;
  const wait = gravest(report.retries.filter((r) => execution !== null && executionOf(report, r) === execution));
  const roles = space.temp_bytes > 0 ? (report.plan?.peak?.roles ?? []) : [];
  const segment = (
    id: string,
    swatch: Swatch,
    bytes: number,
    evidence: Evidence = 'read',
    label = swatch.label,
  ): Segment => ({
    id,
    swatch,
    label,
    bytes,
    evidence,
    roles:
      id === 'temp'
        ? ROLES.flatMap((role) => {
            const share = roles.find((r) => r.role === role)?.share ?? 0;
            return share > 0 ? [{ role, swatch: ROLE[role], bytes: share * bytes }] : [];
          })
        : [],
  });
  const segments = [
    segment('donated', POOL.donated, space.donated_bytes, 'read', 'parameters, donated'),
    segment(
      'parameters',
      POOL.parameters,
      Math.max(0, space.parameters_bytes - space.donated_bytes),
      'read',
      space.donated_bytes > 0 ? 'parameters, not donated' : 'parameters',
    ),
    segment('constants', POOL.constants, space.constants_bytes, 'read', 'constants'),
    segment('live', POOL.live, otherBytes ?? 0),
    segment('copies', POOL.copies, copies?.value ?? 0, copies?.evidence),
    segment('outputs', POOL.outputs, space.outputs_bytes, 'read', 'outputs'),
    segment('temp', POOL.temp, space.temp_bytes),
  ].filter((s) => s.bytes > 0);
  const totalBytes = segments.reduce((n, s) => n + s.bytes, 0);
  return {
    module,
    allocator,
    execution,
    wait,
    scattered: wait !== null && wait.missing !== null && (wait.free_bytes ?? 0) >= wait.missing.bytes ? wait : null,
    segments,
    needBytes: space.need_bytes,
    totalBytes,
    otherBytes,
    capacityBytes,
    capacityEvidence: measured === null ? 'inferred' : 'measured',
    cardBytes: cardOf(report, allocator) ?? report.given.card_bytes,
    leftBytes: capacityBytes === null ? null : capacityBytes - totalBytes,
  };
}
