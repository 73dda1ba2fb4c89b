/**
 * Many captures, one row for each device: which of them is not like the others.
 *
 * Captures of one host are its runs, one after another: only the newest has peers, which are other hosts.
 */

import type { Capture } from '../../client';
import type { Report, VerdictStatus } from '../../generated/report';
import { isCapture } from './beside';
import { analysed, cardOf, deviceSpace, mainExecution } from './pool';

export interface DeviceRow {
  readonly key: string;
  /** Position among the captures. */
  readonly file: number;
  readonly report: Report;
  readonly device: number | null;
  readonly allocator: string | null;
  readonly needBytes: number | null;
  readonly peakBytes: number | null;
  readonly capacityBytes: number | null;
  readonly cardBytes: number | null;
  readonly failed: number;
  /** It is the text of a failure or a memory profile, and no device. */
  readonly beside: boolean;
  /** How many captures of the same host are newer: then this is an earlier run, which has no peers. */
  readonly newer: number;
  /** Rows of the same program, this one among them. */
  readonly peers: number;
  /** The largest difference from the median of the peers (devices that ran the same program), as a share of it; null without peers. */
  readonly off: number | null;
  /** That difference in bytes, and of what. */
  readonly offBytes: number;
  readonly offOf: 'peak' | 'need' | null;
}

function median(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** What peers have in common: many programs that are not the same have one name, but hardly the same arguments and results. */
function program(report: Report): string {
  const module = analysed(report);
  const space = module === null ? null : deviceSpace(module);
  return [module?.base_name ?? report.module, space?.parameters_bytes, space?.outputs_bytes].join(' ');
}

/** When a run was captured: the name that JAX gives its folder, which is a time. */
const runFolder = (path: string): string => /(?:^|\/)(\d{4}(?:_\d\d){5})\/[^/]*$/.exec(path)?.[1] ?? '';

/** For each capture, how many of its host are newer: as its folder says, else its file, else the order. */
function newerRuns(captures: readonly Capture[]): Map<number, number> {
  const newestFirst = captures
    .map(({ path, input, report }, file) => ({
      file,
      host: report.source.host || `of file ${file}`,
      folder: runFolder(path),
      written: input.modified ?? 0,
    }))
    .sort((a, b) => (a.folder === b.folder ? b.written - a.written || b.file - a.file : a.folder < b.folder ? 1 : -1));
  const seen = new Map<string, number>();
  return new Map(
    newestFirst.map(({ file, host }) => {
      const newer = seen.get(host) ?? 0;
      seen.set(host, newer + 1);
      return [file, newer];
    }),
  );
}

const GRAVITY: Readonly<Record<VerdictStatus, number>> = { out_of_memory: 0, at_risk: 1, cannot_tell: 2, fits: 2 };

/** The gravest verdict first. */
export const gravity = (report: Report): number => GRAVITY[report.verdict.status];

/** Every device of every capture: the gravest verdict first, then the odd one out, earlier runs last. */
export function deviceRows(captures: readonly Capture[]): DeviceRow[] {
  const runs = newerRuns(captures);
  const rows = captures.flatMap((capture, file): Omit<DeviceRow, 'off' | 'offBytes' | 'offOf' | 'peers'>[] => {
    const { report } = capture;
    const beside = !isCapture(capture);
    const newer = runs.get(file) ?? 0;
    const module = analysed(report);
    const needBytes = module === null ? null : (deviceSpace(module)?.need_bytes ?? null);
    const own = report.allocators.filter((a) => a.kind === 'device');
    const failed = (device: number | null) =>
      report.executions.filter((e) => e.outcome === 'failed' && (device === null || e.device === device)).length;
    if (own.length === 0) {
      const device = mainExecution(report)?.device ?? null;
      return [
        {
          newer,
          beside,
          key: `${file}`,
          file,
          report,
          device,
          allocator: null,
          needBytes,
          peakBytes: null,
          capacityBytes: null,
          cardBytes: cardOf(report, null),
          failed: failed(device),
        },
      ];
    }
    return own.map((a) => ({
      newer,
      beside,
      key: `${file} ${a.name}`,
      file,
      report,
      device: a.device,
      allocator: a.name,
      needBytes,
      peakBytes: a.peak_bytes,
      capacityBytes: a.capacity_bytes,
      cardBytes: cardOf(report, a),
      failed: failed(a.device),
    }));
  });
  const groups = new Map<string, (typeof rows)[number][]>();
  for (const r of rows) {
    // Earlier runs are nobody's peers.
    const name = r.newer > 0 ? '' : program(r.report);
    const own = groups.get(name);
    if (own === undefined) groups.set(name, [r]);
    else own.push(r);
  }
  const known = (own: typeof rows, of: 'peakBytes' | 'needBytes') =>
    own.flatMap((r) => (r[of] === null ? [] : [r[of] as number]));
  const medians = new Map(
    [...groups].map(([name, own]) => [
      name,
      { peak: median(known(own, 'peakBytes')), need: median(known(own, 'needBytes')), peers: own.length },
    ]),
  );
  const share = (value: number | null, middle: number | null) =>
    value === null || middle === null || middle === 0 ? null : Math.abs(value - middle) / middle;
  return rows
    .map((r): DeviceRow => {
      const group = r.newer > 0 ? undefined : medians.get(program(r.report));
      const { peak, need, peers } = group ?? { peak: null, need: null, peers: 0 };
      const p = share(r.peakBytes, peak);
      const n = share(r.needBytes, need);
      const byPeak = p !== null && (n === null || p >= n);
      return {
        ...r,
        peers,
        off: p === null && n === null ? null : Math.max(p ?? 0, n ?? 0),
        offBytes: byPeak ? (r.peakBytes ?? 0) - (peak ?? 0) : (r.needBytes ?? 0) - (need ?? 0),
        offOf: p === null && n === null ? null : byPeak ? 'peak' : 'need',
      };
    })
    .sort(
      (a, b) =>
        Number(a.beside) - Number(b.beside) ||
        gravity(a.report) - gravity(b.report) ||
        b.failed - a.failed ||
        a.newer - b.newer ||
        (b.off ?? 0) - (a.off ?? 0) ||
        a.file - b.file ||
        (a.device ?? 0) - (b.device ?? 0),
    );
}
