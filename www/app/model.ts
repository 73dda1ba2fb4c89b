/** What the page knows and what can be done with it. Views read it; only its methods change it. */

import type { Beside, Capture, Client, Input, Item, Opening, PassedOver, Sample, Sizes } from '../client';
import type { Report } from '../generated/report';
import { besideOf, isCapture, isProfile } from './lib/beside';
import { comparable } from './lib/compare';
import { read, type Settings, START, type View, write } from './lib/route';
import { cut } from './lib/text';
import { plural } from './lib/units';

export type Phase = 'empty' | 'reading' | 'done' | 'error';

/** What the page says to screen readers and, shortly, to everyone. */
export interface Notice {
  readonly text: string;
  readonly number: number;
}

interface Spot {
  readonly y: number;
  /** Position among the links of the view; -1 for none. */
  readonly link: number;
}

/** What the browser's history knows of a page: the start, or a report that was open there. */
type Step = 'start' | 'report';

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
  /** Why what was brought last isn't shown in place of what was open. */
  refused: string | null = null;
  notice: Notice = { text: '', number: 0 };
  /** Sizes as bytes to the last one instead of GiB. */
  exact = false;
  samples: readonly Sample[] = [];
  /** A buffer looked at, in every view of the plan. */
  selected: string | null = null;

  /** What views remember after one has left them, by capture. */
  readonly memory = new Map<string, unknown>();
  /** Where the reader was on the page that a step back leads to: how far down, and on which link. */
  returned: Spot | null = null;

  /** What folders and archives held beside captures. */
  passedOver: readonly PassedOver[] = [];

  private opening: Opening | null = null;
  private readonly listeners = new Set<() => void>();
  private pending = 0;
  /** What is being looked at or put beside a capture, so that the newest wish wins. */
  private turn = 0;
  private looking = false;
  private later: ReturnType<typeof setTimeout> | undefined;
  /** Captures kept from before, when files are added. */
  private kept: Item[] = [];
  /** What was open when others were brought in its place: it comes back where none of them can be read. */
  private before: { items: Item[]; settings: Settings; passedOver: readonly PassedOver[] } | null = null;
  /** Files that are no longer items of their own: they stand beside captures. */
  private readonly joined = new WeakSet<Item>();
  private readonly spots = new Map<string, Spot>();
  /** A step that is being made is no return. */
  private onward = false;
  private readonly made = new WeakSet<Input>();
  private readonly reports = new Map<Capture, Map<string, Promise<Report>>>();

  constructor(readonly client: Client) {
    this.settings = read(location.hash);
    addEventListener('popstate', () => this.arrive());
    addEventListener('hashchange', () => this.arrive());
    // A link makes a step from the address as it is: it must say by then where the reader is.
    addEventListener(
      'click',
      (e) => {
        this.address('replaceState');
        const link = e.target instanceof Element ? e.target.closest('a') : null;
        this.leave(link ?? null);
      },
      true,
    );
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
    document.documentElement.dataset.state = this.looking ? 'reading' : this.phase;
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

  /** Positions of the captures that can stand side by side with the one shown. */
  get comparable(): number[] {
    return comparable(
      this.settings,
      this.captures.map((c) => c.capture),
    );
  }

  get current(): Item | null {
    const captures = this.captures;
    return captures[Math.min(this.settings.file, captures.length - 1)] ?? null;
  }

  /**
   * Takes files that were brought. Where a capture is open and all of them say something about it, they are put beside it;
   * else they are read, `add` keeping the captures that are there.
   */
  async take(inputs: readonly Input[], add = false): Promise<void> {
    const turn = ++this.turn;
    const capture = this.phase === 'done' ? (this.current?.capture ?? null) : null;
    // More files than there are kinds are something else.
    if (capture === null || inputs.length === 0 || inputs.length > 2) return this.open(inputs, add);
    this.looking = true;
    document.documentElement.dataset.state = 'reading';
    const kinds = await Promise.all(inputs.map((i) => this.client.besideKind(i).catch(() => null)));
    if (turn !== this.turn) return;
    this.looking = false;
    const beside = inputs.flatMap((input, i): Beside[] => (kinds[i] ? [{ kind: kinds[i], input }] : []));
    if (beside.length < inputs.length || beside[0]?.kind === beside[1]?.kind) return this.open(inputs, add);
    if (isCapture(capture)) return this.putBeside(capture, beside);
    // A second profile is compared with the first.
    this.open(inputs, add || (isProfile(capture) && beside.every((b) => b.kind === 'profile')));
  }

  /** Puts evidence beside a capture and shows what it says. */
  private async putBeside(capture: Capture, all: readonly Beside[]): Promise<void> {
    const turn = this.turn;
    this.looking = true;
    try {
      for (const beside of all) await capture.add(beside);
    } catch (error) {
      this.say(sentence(error));
    }
    this.looking = false;
    this.reports.delete(capture);
    if (turn !== this.turn || this.current?.capture !== capture) return this.changed();
    this.report = null;
    this.go({ view: all[0]?.kind === 'profile' ? 'profile' : 'text', focus: null });
    this.say(capture.report.error_text?.matched?.sentence ?? 'It is read beside the open capture.');
  }

  /** Holds the plan of a capture against sizes that it does not have. */
  async give(capture: Capture, sizes: Sizes): Promise<void> {
    try {
      await capture.give(sizes);
    } catch (error) {
      return this.say(sentence(error));
    }
    this.reports.delete(capture);
    this.report = null;
    this.refresh();
    this.say(capture.report.verdict.sentence);
  }

  /** Takes evidence away from the capture again; `alone` reads it as a file of its own. */
  async takeAway(capture: Capture, beside: Beside, alone: boolean): Promise<void> {
    this.turn++;
    try {
      await capture.remove(beside.kind);
    } catch (error) {
      this.say(sentence(error));
    }
    this.reports.delete(capture);
    this.report = null;
    if (alone) return this.open([beside.input], true);
    this.go({ view: 'summary', focus: null });
    this.say(`${beside.input.name.slice(0, 200)} is taken away.`);
  }

  /** Reads files; `add` keeps the captures that are there, to compare with. */
  open(inputs: readonly Input[], add = false): void {
    this.turn++;
    this.looking = false;
    if (inputs.length === 0) {
      this.say('Nothing to read there.');
      return;
    }
    const keep = add ? this.captures : [];
    const fresh = this.phase === 'empty';
    if (this.phase === 'done')
      this.before = { items: this.items, settings: this.settings, passedOver: this.passedOver };
    else for (const item of this.items) if (!keep.includes(item)) this.forget(item);
    this.kept = keep;
    this.items = keep;
    if (fresh) {
      // A step back from the report leads to the start, and not out of the page.
      this.step('replaceState', 'start');
      this.step('pushState', 'report');
    }
    this.phase = 'reading';
    this.report = null;
    this.trouble = null;
    this.refused = null;
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
    opening.settled.then(async () => {
      if (this.opening === opening) await this.join(opening.items);
      if (this.opening === opening) this.settled(opening, add);
    });
  }

  /** Evidence that came with captures, or was there alone before them, is put beside them, where there is only one of its kind. */
  private async join(opened: readonly Item[]): Promise<void> {
    const there = (this.before?.items ?? this.kept).filter((i) => i.capture !== null);
    const alone = there.every((i) => i.capture !== null && besideOf(i.capture) !== null);
    const items = alone ? [...there, ...opened] : opened;
    const captures = opened.flatMap((i) => (i.capture !== null && isCapture(i.capture) ? [i.capture] : []));
    for (const kind of ['text', 'profile'] as const) {
      const [one, another] = items.filter((i) => i.capture !== null && besideOf(i.capture) === kind);
      if (captures.length === 0 || !one?.capture || another !== undefined) continue;
      const { input } = one.capture;
      await Promise.all(captures.map((c) => c.add({ kind, input }))).then(
        () => {
          this.joined.add(one);
          this.forget(one);
        },
        (error) => this.say(sentence(error)),
      );
    }
  }

  private settled(opening: Opening, added: boolean): void {
    this.opening = null;
    const { before } = this;
    this.before = null;
    this.kept = this.kept.filter((i) => !this.joined.has(i));
    this.items = [...this.kept, ...opening.items].filter((i) => !this.joined.has(i));
    if (before !== null && opening.items.every((i) => i.capture === null)) {
      this.goBack(before);
      return;
    }
    const captures = this.captures;
    // What was there may have gone beside what came.
    added &&= this.kept.length > 0;
    this.passedOver = added ? [...this.passedOver, ...opening.passedOver] : opening.passedOver;
    if (captures.length > 0) {
      // Whoever brings a folder does not say that each file of it is a capture.
      const beside = (i: Item) => i.error !== null && i.path.includes('/') && !/\.xplane\.pb(\.gz)?$/.test(i.path);
      const left = this.items.filter(beside).map((i) => ({ path: i.path, sentence: i.error ?? '' }));
      this.passedOver = [...this.passedOver, ...left];
      this.items = this.items.filter((i) => !beside(i));
    }
    if (captures.length === 0) {
      const cancelled = this.items.every((i) => i.state === 'cancelled');
      this.phase = cancelled ? 'empty' : 'error';
      if (cancelled) this.items = [];
      this.say(
        cancelled ? 'Cancelled.' : (this.items.find((i) => i.error !== null)?.error ?? 'Nothing could be read.'),
      );
      return;
    }
    for (const item of before?.items ?? []) if (!this.items.includes(item)) this.forget(item);
    this.phase = 'done';
    this.settings = { ...this.settings, file: Math.min(this.settings.file, captures.length - 1) };
    const first = captures.findIndex((c) => !this.kept.includes(c));
    const [one, two] = captures.length === 2 ? captures.map((c) => c.capture as Capture) : [];
    const alike = one !== undefined && two !== undefined && isCapture(one) === isCapture(two);
    if (one && two && isProfile(one) && isProfile(two)) {
      // The one written last is what came after.
      const file = (one.input.modified ?? 0) > (two.input.modified ?? 0) ? 0 : 1;
      this.go({ view: 'compare', file, before: 1 - file, module: null }, !added);
    } else if (added && this.kept.length === 1 && alike) this.go({ view: 'compare', file: 1, before: 0, module: null });
    else if (added && one && !alike) this.go({ view: 'summary', file: first, module: null });
    else if (added && first >= 0) this.go({ view: 'files', file: first, module: null });
    else if (captures.length > 1 && this.settings.view === 'summary') this.go({ view: 'files' }, true);
    else this.go({}, true);
    if (captures.length === 1) this.say(captures[0]?.capture?.report.verdict.sentence ?? '');
    else this.say(`${captures.length} captures read.`);
  }

  /** What was brought can't be read: what was open stays, and it is said why. */
  private goBack(before: NonNullable<Model['before']>): void {
    const came = this.items.filter((i) => !before.items.includes(i));
    const cancelled = came.every((i) => i.state === 'cancelled');
    const failed = came.filter((i) => i.error !== null);
    this.items = before.items;
    this.settings = before.settings;
    this.passedOver = before.passedOver;
    this.phase = 'done';
    this.address('replaceState');
    this.refresh();
    const more = failed.length > 1 ? ` (and ${plural(failed.length - 1, 'other file')})` : '';
    const [first] = failed;
    if (cancelled || first === undefined) this.say(cancelled ? 'Cancelled.' : 'Nothing could be read.');
    else {
      this.refused = `Not read: ${cut(first.path || first.name, 200)}${more}. ${first.error?.replace(/[^.!?]$/, '$&.')} What was open stays.`;
      this.say(this.refused);
    }
  }

  cancel(): void {
    this.opening?.cancel();
  }

  /** Closes one of several: a capture, or a file that could not be read. */
  closeOne(item: Item): void {
    const at = this.captures.indexOf(item);
    this.forget(item);
    this.items = this.items.filter((i) => i !== item);
    const left = this.captures.length;
    if (left === 0) {
      this.close();
      return;
    }
    const { file, view } = this.settings;
    const shown = at >= 0 && (at < file || file >= left) ? Math.max(0, file - 1) : file;
    const gone = view === 'compare' || (view === 'files' && this.items.length < 2);
    const other = at === file ? { module: null, event: null, allocator: null, at: null, focus: null } : {};
    this.go({ ...other, view: gone ? 'summary' : view, file: shown, before: null });
    this.say(`${(item.path || item.name).slice(0, 200)} is closed.`);
  }

  /** Back to the empty page. */
  close(): void {
    this.turn++;
    this.looking = false;
    this.opening?.cancel();
    this.opening = null;
    for (const item of [...this.items, ...(this.before?.items ?? [])]) this.forget(item);
    this.items = [];
    this.kept = [];
    this.before = null;
    this.report = null;
    this.trouble = null;
    this.phase = 'empty';
    this.settings = START;
    this.memory.clear();
    this.step('pushState', 'start', '');
    this.say('Closed. Nothing of the capture is kept.');
  }

  private forget(item: Item): void {
    if (item.capture === null) return;
    this.reports.delete(item.capture);
    item.capture.close();
  }

  async sample(id: string): Promise<void> {
    try {
      const input = await this.client.sample(id);
      this.made.add(input);
      this.open([input]);
    } catch (error) {
      this.say(sentence(error));
    }
  }

  /** Whether a capture is one of the samples: made up. */
  isSample(capture: Capture): boolean {
    return this.made.has(capture.input);
  }

  // Where we are

  /** The fragment after a change of settings. */
  link(change: Partial<Settings>): string {
    return write({ ...this.settings, ...change }) || '#';
  }

  /** Changes settings; `quietly` without a step for the back button. */
  go(change: Partial<Settings>, quietly = false): void {
    if (!quietly) {
      this.address('replaceState');
      this.refused = null;
    }
    this.settings = { ...this.settings, ...change };
    // Dragging over a chart changes the moment faster than browsers let a page change its address.
    clearTimeout(this.later);
    if (quietly) this.later = setTimeout(() => this.address('replaceState'), 250);
    else this.address('pushState');
    this.refresh();
  }

  private address(how: 'pushState' | 'replaceState'): void {
    clearTimeout(this.later);
    const fragment = write(this.settings);
    if (fragment === location.hash) return;
    if (how === 'pushState') this.leave();
    this.step(how, this.phase === 'done' ? 'report' : history.state, fragment);
  }

  private step(how: 'pushState' | 'replaceState', step: Step | null, fragment = location.hash): void {
    try {
      history[how](step, '', location.pathname + location.search + fragment);
    } catch {
      // Refused, as some browsers do for a page from the disk: the view changes all the same.
    }
  }

  /** Keeps where the reader is, for a way back. */
  private leave(link: HTMLAnchorElement | null = null): void {
    const to = link?.getAttribute('href') ?? '';
    const links = [...document.querySelectorAll('main a')];
    this.spots.set(location.hash, { y: scrollY, link: link === null ? -1 : links.indexOf(link) });
    this.returned = null;
    this.onward = to !== location.hash && to.startsWith('#');
  }

  private arrive(): void {
    const step = history.state as Step | null;
    this.returned = this.onward ? null : (this.spots.get(location.hash) ?? null);
    this.onward = false;
    if (step === 'start' && this.phase === 'reading') this.cancel();
    else if (step === 'start' && this.phase !== 'empty') this.phase = 'empty';
    else if (step !== 'start' && this.phase === 'empty' && this.captures.length > 0) this.phase = 'done';
    else if (step === 'report' && this.phase === 'empty') {
      // A report that is closed is no link that waits for its capture.
      this.settings = START;
      this.step('replaceState', 'start', '');
    } else if (step === null && this.phase === 'done') this.step('replaceState', 'report');
    this.changed();
    if (step === 'start' && this.phase !== 'done') return;
    const settings = history.state === 'start' ? START : read(location.hash);
    if (write(settings) === write(this.settings)) return;
    this.settings = settings;
    this.refused = null;
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
