/** What the page knows and what can be done with it. Views read it; only its methods change it. */

import type { Capture, Client, Input, Item, Opening, Sample } from '../client';
import type { Report } from '../generated/report';
import { read, type Settings, START, type View, write } from './lib/route';

export type Phase = 'empty' | 'reading' | 'done' | 'error';

/** What the page says to screen readers and, shortly, to everyone. */
export interface Notice {
  readonly text: string;
  readonly number: number;
}

export class Model {
  /** Every file of the present analysis, in the order in which they came. */
  items: Item[] = [];
  phase: Phase = 'empty';
  settings: Settings;
  /** The report shown; null until there is one. */
  report: Report | null = null;
  /** The module whose report is being made, while it is. */
  loading: string | null = null;
  /** Why the report asked for isn't shown. */
  trouble: string | null = null;
  notice: Notice = { text: '', number: 0 };
  /** Sizes as bytes to the last one instead of GiB. */
  exact = false;
  samples: readonly Sample[] = [];
  /** A buffer looked at, in every view of the plan. */
  selected: string | null = null;

  private opening: Opening | null = null;
  private readonly listeners = new Set<() => void>();
  private pending = 0;
  private later: ReturnType<typeof setTimeout> | undefined;
  /** Captures kept from before, when files are added. */
  private kept: Item[] = [];
  private readonly reports = new Map<Capture, Map<string, Promise<Report>>>();

  constructor(readonly client: Client) {
    this.settings = read(location.hash);
    addEventListener('popstate', () => this.arrive());
    addEventListener('hashchange', () => this.arrive());
    // A link makes a step from the address as it is: it must say by then where the reader is.
    addEventListener('click', () => this.address('replaceState'), true);
    client.samples().then(
      (samples) => {
        this.samples = samples;
        this.changed();
      },
      () => {},
    );
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells the views, once a frame however much changed. */
  private changed(): void {
    if (this.pending !== 0) return;
    this.pending = requestAnimationFrame(() => this.flush());
    // A hidden page has no frames, but its state is still looked at.
    if (document.hidden) setTimeout(() => this.flush(), 50);
  }

  private flush(): void {
    if (this.pending === 0) return;
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    document.documentElement.dataset.state = this.phase;
    for (const listener of this.listeners) listener();
  }

  say(text: string): void {
    this.notice = { text, number: this.notice.number + 1 };
    this.changed();
  }

  // Files

  /** The captures that were read. */
  get captures(): Item[] {
    return this.items.filter((i) => i.capture !== null);
  }

  get current(): Item | null {
    const captures = this.captures;
    return captures[Math.min(this.settings.file, captures.length - 1)] ?? null;
  }

  /** Reads files; `add` keeps the captures that are there, to compare with. */
  open(inputs: readonly Input[], add = false): void {
    if (inputs.length === 0) {
      this.say('Nothing to read there.');
      return;
    }
    const keep = add ? this.captures : [];
    for (const item of this.items) if (!keep.includes(item)) this.forget(item);
    this.kept = keep;
    this.items = keep;
    const fresh = this.phase === 'empty';
    this.phase = 'reading';
    this.report = null;
    this.trouble = null;
    this.selected = null;
    // A link that was opened before its capture keeps what it asked for.
    if (!fresh && !add) this.settings = START;
    this.say(inputs.length === 1 ? `Reading ${inputs[0]?.name.slice(0, 200) ?? ''}` : `Reading ${inputs.length} files`);
    const opening = this.client.open(inputs, {
      item: () => {
        if (this.opening !== opening) return;
        this.items = [...this.kept, ...opening.items];
        this.changed();
      },
    });
    this.opening = opening;
    this.items = [...this.kept, ...opening.items];
    opening.settled.then(() => {
      if (this.opening === opening) this.settled(opening, add);
    });
  }

  private settled(opening: Opening, added: boolean): void {
    this.opening = null;
    this.items = [...this.kept, ...opening.items];
    const captures = this.captures;
    if (captures.length === 0) {
      const cancelled = this.items.every((i) => i.state === 'cancelled');
      this.phase = cancelled ? 'empty' : 'error';
      if (cancelled) this.items = [];
      this.say(
        cancelled ? 'Cancelled.' : (this.items.find((i) => i.error !== null)?.error ?? 'Nothing could be read.'),
      );
      return;
    }
    this.phase = 'done';
    const first = captures.findIndex((c) => !this.kept.includes(c));
    if (added && this.kept.length === 1 && captures.length === 2)
      this.go({ view: 'compare', file: 1, before: 0, module: null });
    else if (added && first >= 0) this.go({ view: 'files', file: first, module: null });
    else if (captures.length > 1 && this.settings.view === 'summary') this.go({ view: 'files' }, true);
    else this.go({}, true);
    if (captures.length === 1) this.say(captures[0]?.capture?.report.verdict.sentence ?? '');
    else this.say(`${captures.length} captures read.`);
  }

  cancel(): void {
    this.opening?.cancel();
  }

  /** Back to the empty page. */
  close(): void {
    this.opening?.cancel();
    this.opening = null;
    for (const item of this.items) this.forget(item);
    this.items = [];
    this.kept = [];
    this.report = null;
    this.trouble = null;
    this.phase = 'empty';
    this.settings = START;
    history.pushState(null, '', location.pathname + location.search);
    this.say('Closed. Nothing of the capture is kept.');
  }

  private forget(item: Item): void {
    if (item.capture === null) return;
    this.reports.delete(item.capture);
    item.capture.close();
  }

  async sample(id: string): Promise<void> {
    try {
      this.open([await this.client.sample(id)]);
    } catch (error) {
      this.say(sentence(error));
    }
  }

  // Where we are

  /** The fragment after a change of settings. */
  link(change: Partial<Settings>): string {
    return write({ ...this.settings, ...change }) || '#';
  }

  /** Changes settings; `quietly` without a step for the back button. */
  go(change: Partial<Settings>, quietly = false): void {
    if (!quietly) this.address('replaceState');
    this.settings = { ...this.settings, ...change };
    // Dragging over a chart changes the moment faster than browsers let a page change its address.
    clearTimeout(this.later);
    if (quietly) this.later = setTimeout(() => this.address('replaceState'), 250);
    else this.address('pushState');
    this.refresh();
  }

  private address(how: 'pushState' | 'replaceState'): void {
    clearTimeout(this.later);
    const url = location.pathname + location.search + write(this.settings);
    if (url === location.pathname + location.search + location.hash) return;
    try {
      history[how](null, '', url);
    } catch {
      // Refused, as some browsers do for a page from the disk: the view changes all the same.
    }
  }

  private arrive(): void {
    const settings = read(location.hash);
    if (write(settings) === write(this.settings)) return;
    this.settings = settings;
    this.refresh();
  }

  view(view: View): void {
    this.go({ view, focus: null });
  }

  select(key: string | null): void {
    this.selected = key;
    this.changed();
  }

  showExact(exact: boolean): void {
    this.exact = exact;
    this.say(exact ? 'Sizes are shown in bytes.' : 'Sizes are shown in GiB, MiB, KiB.');
  }

  /** Shows the report that the settings ask for, getting it first where it isn't there. */
  private refresh(): void {
    const capture = this.current?.capture ?? null;
    if (capture === null) {
      this.changed();
      return;
    }
    const module = this.settings.module;
    this.trouble = null;
    if (module === null || module === capture.report.module) {
      this.report = capture.report;
      this.loading = null;
      this.changed();
      return;
    }
    if (this.report?.module === module && this.report.source === capture.report.source) {
      this.changed();
      return;
    }
    this.loading = module;
    this.report ??= capture.report;
    this.reportOf(capture, module).then(
      (report) => this.settle(capture, module, report, null),
      (error) => this.settle(capture, module, capture.report, sentence(error)),
    );
    this.changed();
  }

  private settle(capture: Capture, module: string, report: Report, trouble: string | null): void {
    if (this.current?.capture !== capture || this.settings.module !== module) return;
    this.loading = null;
    this.report = report;
    this.trouble = trouble;
    this.say(trouble ?? `Module ${module.slice(0, 200)} is shown.`);
  }

  /** The report of a module, made once. */
  reportOf(capture: Capture, module: string): Promise<Report> {
    let made = this.reports.get(capture);
    if (made === undefined) {
      made = new Map();
      this.reports.set(capture, made);
    }
    let report = made.get(module);
    if (report === undefined) {
      report = capture.module(module);
      report.catch(() => made.delete(module));
      made.set(module, report);
    }
    return report;
  }
}

/** What to tell of a fault. */
export function sentence(error: unknown): string {
  return error instanceof Error && error.message !== ''
    ? error.message
    : 'That did not work, and the reason is unknown.';
}
