/** Runs in each worker: reads Blobs through the core and answers questions about them. */

import {
  type Capture,
  evidenceKind,
  initSync,
  isArchive,
  Opening,
  sample,
  samples,
  selfTest,
  Unpacking,
  unpack,
} from '../../pkg/oomscope.js';
import { unpackLzma } from './lzma';
import type { Reply, Request } from './protocol';

/** Milliseconds between two words of progress. */
const PROGRESS_EVERY = 100;
/** Bytes: to begin a stream anew costs about as much time as to let so many pass. */
const WORTH_SKIPPING = 4 << 20;
/** Bytes given to the core at a time: the streams of some browsers hand out a file of memory whole. */
const MOST_AT_ONCE = 4 << 20;
/** Milliseconds spent on the samples before there is a file. */
const WARM_UP = 400;

const captures = new Map<number, Capture>();

/** Whether this worker was ever given a file. */
let given = false;

/** The file that is being read, and when the pool last heard of it. */
let reading = 0;
/** It is an archive: to unpack it is half of the way. */
let unpacking = false;
let told = 0;
let fault: string | null = null;

declare global {
  /** Called by the core's panic hook, just before the trap. */
  var oomscopeFault: (message: string) => void;
  /** Called by the core where it reads far by itself. */
  var oomscopeProgress: (doneBytes: number) => void;
  /** Called by the core for bytes that the browser is to keep. */
  var oomscopeKeep: (bytes: Uint8Array<ArrayBuffer>) => Blob;
}
globalThis.oomscopeKeep = (bytes) => new Blob([bytes]);
globalThis.oomscopeFault = (message) => {
  fault = message;
};
globalThis.oomscopeProgress = (doneBytes) => {
  const now = performance.now();
  if (now - told < PROGRESS_EVERY) return;
  told = now;
  reply({ type: 'progress', capture: reading, doneBytes: unpacking ? doneBytes / 2 : doneBytes });
};

function reply(message: Reply): void {
  postMessage(message);
}

/**
 * The core refuses by throwing a sentence. Whatever else comes out of it (a trap, a full stack, no memory) leaves it in
 * a state that nobody knows: the pool then ends this worker.
 */
function sentenceOf(error: unknown): string | null {
  if (typeof error === 'string') return error;
  const message = fault ?? (error instanceof Error ? error.message : String(error));
  // Out of memory it asks for a block that cannot be, or stops without a word.
  const memory =
    fault?.includes('capacity overflow') ?? (error instanceof WebAssembly.RuntimeError && /unreachable/.test(message));
  reply({ type: 'fault', message, memory });
  return null;
}

/** The bytes of a base64 text. In a loop: `Uint8Array.from` takes ten times as long. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** Makes the core of the text that the page carries. */
async function unpackEngine(packed: string): Promise<void> {
  try {
    if (typeof WebAssembly === 'undefined') {
      throw new Error('this browser runs no WebAssembly: it is too old, or a lockdown mode forbids it');
    }
    const bytes = unpackLzma(bytesOf(packed));
    reply({ type: 'engine', engine: await WebAssembly.compile(bytes) });
  } catch (error) {
    reply({ type: 'fault', message: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * Reads the samples over and over until there is a file, for a short while at most. Browsers compile a function of the
 * core when it is first called, and make it fast when it was called often: otherwise the first file waits for that, and a
 * small one takes three times as long.
 */
async function warmUp(): Promise<void> {
  const until = performance.now() + WARM_UP;
  const made = new Map<string, Uint8Array<ArrayBuffer>>();
  for (let round = 0; performance.now() < until; round++) {
    // What is asked meanwhile comes first.
    await new Promise((resolve) => setTimeout(resolve));
    if (given) return;
    const ids = samples();
    const { id } = ids[round % ids.length];
    const bytes = made.get(id) ?? (sample(id) as Uint8Array<ArrayBuffer>);
    made.set(id, bytes);
    const opening = new Opening(new Blob([bytes]), `${id}.xplane.pb`);
    for (let at = opening.wants(); at !== undefined; at = opening.wants()) opening.feed(at, bytes.subarray(at));
    const read = opening.finish();
    read.report();
    read.free();
  }
}

async function open(capture: number, blob: Blob, name: string, damage: string | undefined): Promise<void> {
  reading = capture;
  reply({ type: 'progress', capture, doneBytes: 0 });
  told = performance.now();
  try {
    unpacking = isArchive(blob, name);
    if (unpacking) {
      const passed = (path: string, sentence: string) => reply({ type: 'passed-over', capture, path, sentence });
      const alone = Unpacking.begin(blob, name);
      if (!alone) {
        const inside = (path: string, blob: Blob, damage: string | undefined) =>
          reply({ type: 'inside', capture, path, blob, damage });
        unpack(blob, name, inside, passed);
        reply({ type: 'unpacked', capture });
        return;
      }
      await stream(alone, blob);
      alone.finish((path: string, inside: Blob, found: string | undefined) => {
        unpacking = false;
        reply({ type: 'becomes', capture, path, blob: inside, damage: found });
        damage = found;
        blob = inside;
        name = path.slice(path.lastIndexOf('/') + 1);
      }, passed);
      if (unpacking) {
        reply({ type: 'unpacked', capture });
        return;
      }
    }
    const opening = new Opening(blob, name, damage);
    await stream(opening, blob);
    const read = opening.finish();
    captures.set(capture, read);
    reply({ type: 'opened', capture, report: read.report() });
  } catch (error) {
    const message = sentenceOf(error);
    if (message !== null) reply({ type: 'refused', capture, message });
  }
}

/** Gives the core the bytes it wants, in the order of the file; a long stretch that it does not want is left out. */
async function stream(opening: Opening | Unpacking, blob: Blob): Promise<void> {
  for (let start = opening.wants(); start !== undefined; ) {
    const reader = blob.slice(start).stream().getReader();
    let at = start;
    do {
      const chunk = await reader.read().catch((error: unknown) => {
        throw opening.failure(at, error);
      });
      if (chunk.done) return;
      for (let from = 0; from < chunk.value.length; from += MOST_AT_ONCE) {
        opening.feed(at + from, chunk.value.subarray(from, from + MOST_AT_ONCE));
      }
      at += chunk.value.length;
      start = opening.wants();
      oomscopeProgress(at);
    } while (start !== undefined && start - at < WORTH_SKIPPING);
    await reader.cancel();
  }
}

function answer(request: Extract<Request, { type: 'ask' }>): unknown {
  if (request.capture === null) {
    const { question } = request;
    switch (question.about) {
      case 'samples':
        return samples();
      case 'sample':
        return sample(question.id);
      case 'besideKind':
        return evidenceKind(question.blob, question.name);
      case 'selfTest':
        return selfTest();
    }
  }
  const capture = captures.get(request.capture);
  if (!capture) throw 'This capture is not open.';
  const { question } = request;
  switch (question.about) {
    case 'report':
      return capture.report(question.module);
    case 'planAt':
      return capture.planAt(question.event, question.module);
    case 'liveAt':
      return capture.liveAt(question.allocator, question.picoseconds);
    case 'whatIf':
      return capture.whatIf([...question.fixes], question.module);
    case 'text':
      return capture.text(question.kind, question.module);
    case 'add':
      return capture.add(question.blob, question.name);
    case 'give':
      return capture.give(question.pool, question.card);
    case 'since':
      return capture.since(question.blob, question.name);
  }
}

addEventListener('message', ({ data: request }: MessageEvent<Request>) => {
  switch (request.type) {
    case 'unpack':
      void unpackEngine(request.packed);
      return;
    case 'start':
      initSync({ module: request.engine });
      warmUp().catch(sentenceOf);
      return;
    case 'open':
      given = true;
      void open(request.capture, request.blob, request.name, request.damage);
      return;
    case 'close':
      captures.get(request.capture)?.free();
      captures.delete(request.capture);
      return;
    case 'ask':
      try {
        reply({ type: 'answer', id: request.id, value: answer(request) });
      } catch (error) {
        const message = sentenceOf(error);
        if (message !== null) reply({ type: 'no-answer', id: request.id, message });
      }
      return;
  }
});
