/**
 * What the page knows of the analysis: hand it files, get captures back, ask them questions.
 *
 * All work happens in workers. Nothing here touches the DOM, and nothing leaves the machine: the page's policy
 * (`connect-src 'none'`) would not let it.
 */

import type { LiveMoment, PlanMoment, Report, WhatIf } from './generated/report';

/** A file to read. `path` is its place in the dropped folder, or just its name. */
export interface Input {
  readonly name: string;
  readonly path: string;
  readonly blob: Blob;
  /** What is wrong with the archive that it was taken out of, in a sentence. */
  readonly damage?: string | undefined;
  /** When the file was last written, in milliseconds of the epoch, where that is known. */
  readonly modified?: number;
}

/** Sizes in bytes that a file does not have and its user knows. */
export interface Sizes {
  readonly pool?: number | undefined;
  readonly card?: number | undefined;
}

/** What says something about a capture and is none: the text of a failure, a device memory profile. */
export type BesideKind = 'text' | 'profile';

/** A file that was put beside a capture. */
export interface Beside {
  readonly kind: BesideKind;
  readonly input: Input;
}

/** How far an item is. */
export type ItemState = 'waiting' | 'reading' | 'done' | 'error' | 'cancelled';

/**
 * One capture of an opening: usually one for each file, several for an archive. An archive's item becomes that of the
 * first capture in it, and the others are added while it is being unpacked. The object stays the same from first to
 * last; the page reads it whenever {@link OpenEvents.item} says that it changed.
 */
export interface Item {
  /** Unique in this page, ascending in the order of the files. */
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
  readonly state: ItemState;
  /** Bytes read of {@link Item.sizeBytes}; the fraction only ever grows. */
  readonly doneBytes: number;
  /** With `error`: a sentence that says what the file is or what failed, and what to do. */
  readonly error: string | null;
  /** With `done`. */
  readonly capture: Capture | null;
}

/** What an opening tells. Every handler is called on the page's own thread, never before `open` returned. */
export interface OpenEvents {
  /** An item appeared, changed its state, or (at most ten times a second each) got further. */
  item?(item: Item): void;
  /** Every item is done, failed or cancelled. Not called for an opening that a newer one replaced. */
  settled?(items: readonly Item[]): void;
}

/** A file inside an archive that was left out, and what it is. */
export interface PassedOver {
  readonly path: string;
  readonly sentence: string;
}

/** Files being read. */
export interface Opening {
  /** All items so far: those of the files in their order, then those that archives added. */
  readonly items: readonly Item[];
  /** What archives held beside captures, so far. */
  readonly passedOver: readonly PassedOver[];
  /** Resolves when every item is done, failed or cancelled; never rejects. */
  readonly settled: Promise<void>;
  /** Stops reading. What is done stays usable. */
  cancel(): void;
}

/** The forms of a report for other places. */
export type TextKind = 'text' | 'markdown' | 'json';

/**
 * One capture that was read. Its index stays in a worker, which answers questions; should that worker be lost, the
 * file is read again for the next question, unseen but for the time it takes.
 *
 * Every promise rejects with an `Error` whose message is a sentence for the user.
 */
export interface Capture {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  /** The file it was read from. */
  readonly input: Input;
  /** The report of the module chosen by default. Another object once something was put beside the capture. */
  readonly report: Report;
  /** What stands beside it; one of each kind at most. */
  readonly beside: readonly Beside[];
  /** Puts something beside it, in place of another of its kind: all reports asked for later have it. */
  add(beside: Beside): Promise<void>;
  /** Takes it away again; the file is read anew. */
  remove(kind: BesideKind): Promise<void>;
  /** The sizes to hold its plan against, which the file does not have. */
  readonly given: Sizes;
  /** Sets them: all reports made later are held against them. */
  give(sizes: Sizes): Promise<void>;
  /** The report of a memory profile, with what changed since an earlier one. */
  since(earlier: Input): Promise<Report>;
  /** The report of another module: `jit_step(17)` or `jit_step`. */
  module(name: string): Promise<Report>;
  /** What is live at an event of the schedule of a module (that of the default report, unless named). */
  planAt(event: number, module?: string): Promise<PlanMoment>;
  /** What is live in an allocator at a moment. */
  liveAt(allocator: string, picoseconds: number): Promise<LiveMoment>;
  /** The need after several fixes together, by the ids of `Fix.id`. */
  whatIf(fixes: readonly string[], module?: string): Promise<WhatIf>;
  /** The report as the command line prints it, as Markdown, or as the JSON file, byte for byte. */
  text(kind: TextKind, module?: string): Promise<string>;
  /** Forgets the capture and frees its memory. Questions reject from now on. */
  close(): void;
}

/** A built-in synthetic capture. */
export interface Sample {
  readonly id: string;
  readonly title: string;
}

/** One check of the self-test. */
export interface SelfTestCheck {
  readonly name: string;
  readonly passed: boolean;
  readonly detail: string;
}

/** The analysis. One for the page. */
export interface Client {
  /** Reads files; an opening that is still going is cancelled first. An empty list just cancels. */
  open(inputs: readonly Input[], events?: OpenEvents): Opening;
  /** What a file would be beside a capture; null where it is something else. */
  besideKind(input: Input): Promise<BesideKind | null>;
  /** The built-in synthetic captures. */
  samples(): Promise<Sample[]>;
  /** One of them, to be opened like a file. */
  sample(id: string): Promise<Input>;
  /** Runs the analysis on synthetic captures of every finding and checks what it says. */
  selfTest(): Promise<SelfTestCheck[]>;
  /** The version of the program inside. */
  readonly version: string;
  /** Where the newest version lives, where the build was told; the page itself never asks. */
  readonly home: string | null;
}
