/** Many captures, one row for each device: which of them is not like the others. */

import type { Report } from '../../generated/report';
import { analysed, cardOf, deviceSpace, lastExecution } from './pool';

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

/** Every device of every report, the odd one out first. */
export function deviceRows(reports: readonly Report[]): DeviceRow[] {
  const rows = reports.flatMap((report, file): Omit<DeviceRow, 'off' | 'offBytes' | 'offOf' | 'peers'>[] => {
    const module = analysed(report);
    const needBytes = module === null ? null : (deviceSpace(module)?.need_bytes ?? null);
    const own = report.allocators.filter((a) => a.kind === 'device');
    const failed = (device: number | null) =>
      report.executions.filter((e) => e.outcome === 'failed' && (device === null || e.device === device)).length;
    if (own.length === 0) {
      const device = lastExecution(report)?.device ?? null;
      return [
        {
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
  // Peers run the same program: many that are not have one name, but hardly the same arguments and results.
  const program = (r: Report) => {
    const module = analysed(r);
    const space = module === null ? null : deviceSpace(module);
    return [module?.base_name ?? r.module, space?.parameters_bytes, space?.outputs_bytes].join(' ');
  };
  const medians = new Map<string, { peak: number | null; need: number | null; peers: number }>();
  for (const name of new Set(reports.map(program))) {
    const own = rows.filter((r) => program(r.report) === name);
    const known = (of: 'peakBytes' | 'needBytes') => own.flatMap((r) => (r[of] === null ? [] : [r[of] as number]));
    medians.set(name, { peak: median(known('peakBytes')), need: median(known('needBytes')), peers: own.length });
  }
  const share = (value: number | null, middle: number | null) =>
    value === null || middle === null || middle === 0 ? null : Math.abs(value - middle) / middle;
  return rows
    .map((r): DeviceRow => {
      const { peak, need, peers } = medians.get(program(r.report)) ?? { peak: null, need: null, peers: 0 };
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
    .sort((a, b) => (b.off ?? 0) - (a.off ?? 0) || a.file - b.file || (a.device ?? 0) - (b.device ?? 0));
}
