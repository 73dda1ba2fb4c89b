/**
 * The settings of an analysis as a link's fragment: which module, which view, which moment.
 * Never anything of the capture but the name of the module that was chosen.
 */

export const VIEWS = [
  'summary',
  'findings',
  'whatif',
  'plan',
  'run',
  'text',
  'profile',
  'capture',
  'files',
  'compare',
] as const;
export type View = (typeof VIEWS)[number];

export interface Settings {
  readonly view: View;
  /** Position among the captures read, from 0. */
  readonly file: number;
  /** The module asked for; null for the report's own choice. */
  readonly module: string | null;
  /** Event of the schedule; null for the peak. */
  readonly event: number | null;
  /** The allocator looked at; null for the one of the last execution. */
  readonly allocator: string | null;
  /** Moment of the run in picoseconds; null for the allocator's peak. */
  readonly at: number | null;
  /** A row to show, `execution.3`: the evidence of a finding. */
  readonly focus: string | null;
  /** Position of the capture compared with (the one before). */
  readonly before: number | null;
}

export const START: Settings = {
  view: 'summary',
  file: 0,
  module: null,
  event: null,
  allocator: null,
  at: null,
  focus: null,
  before: null,
};

const whole = (text: string | null): number | null =>
  text !== null && /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
const short = (text: string | null): string | null =>
  text !== null && text !== '' && text.length <= 2000 ? text : null;

/** Settings from a fragment; whatever it doesn't say, or says wrongly, is as at the start. */
export function read(fragment: string): Settings {
  const asked = new URLSearchParams(fragment.replace(/^#/, ''));
  const view = asked.get('view') as View | null;
  return {
    view: view !== null && VIEWS.includes(view) ? view : START.view,
    file: Math.max(0, (whole(asked.get('file')) ?? 1) - 1),
    module: short(asked.get('module')),
    event: whole(asked.get('event')),
    allocator: short(asked.get('allocator')),
    at: whole(asked.get('at')),
    focus: /^[a-z]+(\.\d+)?$/.test(asked.get('focus') ?? '') ? asked.get('focus') : null,
    before: asked.has('before') ? Math.max(0, (whole(asked.get('before')) ?? 1) - 1) : null,
  };
}

/** The fragment of settings (names too long for a link are left out), without what is as at the start. Inverse of {@link read}. */
export function write(s: Settings): string {
  const out = new URLSearchParams();
  if (s.view !== START.view) out.set('view', s.view);
  if (s.file !== START.file) out.set('file', String(s.file + 1));
  if (short(s.module) !== null) out.set('module', s.module ?? '');
  if (s.event !== null) out.set('event', String(s.event));
  if (short(s.allocator) !== null) out.set('allocator', s.allocator ?? '');
  if (s.at !== null) out.set('at', String(s.at));
  if (s.focus !== null) out.set('focus', s.focus);
  if (s.before !== null) out.set('before', String(s.before + 1));
  const text = out.toString();
  return text === '' ? '' : `#${text}`;
}
