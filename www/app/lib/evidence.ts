/** Where in the page the evidence of a finding stands. */

import type { EvidenceRef, Finding, Report } from '../../generated/report';
import type { Settings } from './route';

/** The settings that show it; null where this report has no such place. */
export function place(ref: EvidenceRef, report: Report): Partial<Settings> | null {
  const row = ref.index === null ? '' : `.${ref.index}`;
  switch (ref.view) {
    case 'plan':
      return report.plan === null ? null : { view: 'plan', event: null, focus: 'plan' };
    case 'allocator': {
      const allocator = report.allocators[ref.index ?? 0];
      return allocator === undefined
        ? null
        : { view: 'run', allocator: allocator.name, at: null, focus: `allocator${row}` };
    }
    case 'execution':
    case 'retry': {
      const list = ref.view === 'retry' ? report.retries : report.executions;
      const one = list[ref.index ?? 0];
      return one === undefined ? null : { view: 'run', allocator: one.allocator, at: null, focus: `${ref.view}${row}` };
    }
    case 'live':
      return report.live_at_last_start.length === 0 ? null : { view: 'run', focus: `live${row}` };
    case 'between':
      return report.between_executions.length === 0 ? null : { view: 'run', focus: `between${row}` };
    case 'module':
      return { view: 'capture', focus: `module${row}` };
    default:
      return null;
  }
}

/** The findings that stand on the row in focus. */
export function findingsAt(focus: string | null, report: Report): Finding[] {
  if (focus === null) return [];
  return report.findings.filter((f) =>
    f.evidence_at.some((e) => (e.index === null ? e.view : `${e.view}.${e.index}`) === focus),
  );
}
