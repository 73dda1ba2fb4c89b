/** What the pool and a worker say to each other. */

import type { BesideKind, Sample, SelfTestCheck, Sizes, TextKind } from '../client';
import type { LiveMoment, PlanMoment, Report, WhatIf } from '../generated/report';

/** A question about a capture that the worker has open. */
export interface Questions {
  report: { ask: { module?: string }; answer: Report };
  planAt: { ask: { event: number; module?: string }; answer: PlanMoment };
  liveAt: { ask: { allocator: string; picoseconds: number }; answer: LiveMoment };
  whatIf: { ask: { fixes: readonly string[]; module?: string }; answer: WhatIf };
  text: { ask: { kind: TextKind; module?: string }; answer: string };
  /** Puts a file beside the capture. */
  add: { ask: { blob: Blob; name: string }; answer: undefined };
  /** Sizes that the file does not have. */
  give: { ask: Sizes; answer: undefined };
  since: { ask: { blob: Blob; name: string }; answer: Report };
}

/** A question that needs no capture. */
export interface GeneralQuestions {
  samples: { ask: Record<never, never>; answer: Sample[] };
  sample: { ask: { id: string }; answer: Uint8Array<ArrayBuffer> };
  besideKind: { ask: { blob: Blob; name: string }; answer: BesideKind | undefined };
  selfTest: { ask: Record<never, never>; answer: SelfTestCheck[] };
}

type Asked<Q> = { [K in keyof Q]: { about: K } & (Q[K] extends { ask: infer A } ? A : never) }[keyof Q];

/** To the worker. */
export type Request =
  /** Unpacks and compiles the core, as text of the page; the only thing that is asked of this worker. */
  | { type: 'unpack'; packed: string }
  | { type: 'start'; engine: WebAssembly.Module }
  | { type: 'open'; capture: number; blob: Blob; name: string; damage: string | undefined }
  | { type: 'close'; capture: number }
  | { type: 'ask'; id: number; capture: number; question: Asked<Questions> }
  | { type: 'ask'; id: number; capture: null; question: Asked<GeneralQuestions> };

/** From the worker. */
export type Reply =
  | { type: 'engine'; engine: WebAssembly.Module }
  | { type: 'progress'; capture: number; doneBytes: number }
  /** The file is an archive: one of the files in it. */
  | { type: 'inside'; capture: number; path: string; blob: Blob; damage: string | undefined }
  /** The file is the packing of one capture, which is read now. */
  | { type: 'becomes'; capture: number; path: string; blob: Blob; damage: string | undefined }
  | { type: 'passed-over'; capture: number; path: string; sentence: string }
  | { type: 'unpacked'; capture: number }
  | { type: 'opened'; capture: number; report: Report }
  | { type: 'refused'; capture: number; message: string }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'no-answer'; id: number; message: string }
  /**
   * The engine stopped, at a fault of its own or because there is no more memory: nothing in this worker can be used any
   * more.
   */
  | { type: 'fault'; message: string; memory?: boolean };
