/** Runs in each worker: reads Blobs through the core and answers questions about them. */

import { type Capture, initSync, Opening } from '../../pkg/oomscope.js';
import type { Reply, Request } from './protocol';

/** Milliseconds between two words of progress. */
const PROGRESS_EVERY = 100;
/** Bytes: to begin a stream anew costs about as much time as to let so many pass. */
const WORTH_SKIPPING = 4 << 20;

const captures = new Map<number, Capture>();
let fault: string | null = null;

declare global {
  /** Called by the core's panic hook, just before the trap. */
  var oomscopeFault: (message: string) => void;
}
globalThis.oomscopeFault = (message) => {
  fault = message;
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
  reply({ type: 'fault', message: fault ?? (error instanceof Error ? error.message : String(error)) });
  return null;
}

async function open(capture: number, blob: Blob, name: string): Promise<void> {
  reply({ type: 'progress', capture, doneBytes: 0 });
  try {
    const opening = new Opening(blob, name);
    await stream(opening, blob, (doneBytes) => reply({ type: 'progress', capture, doneBytes }));
    const read = opening.finish();
    captures.set(capture, read);
    reply({ type: 'opened', capture, report: read.report() });
  } catch (error) {
    const message = sentenceOf(error);
    if (message !== null) reply({ type: 'refused', capture, message });
  }
}

/** Gives the core the bytes it wants, in the order of the file; a long stretch that it does not want is left out. */
async function stream(opening: Opening, blob: Blob, progress: (doneBytes: number) => void): Promise<void> {
  let told = performance.now();
  for (let start = opening.wants(); start !== undefined; ) {
    const reader = blob.slice(start).stream().getReader();
    let at = start;
    do {
      const chunk = await reader.read().catch((error: unknown) => {
        throw opening.failure(at, error);
      });
      if (chunk.done) return;
      opening.feed(at, chunk.value);
      at += chunk.value.length;
      start = opening.wants();
      const now = performance.now();
      if (now - told >= PROGRESS_EVERY) {
        told = now;
        progress(at);
      }
    } while (start !== undefined && start - at < WORTH_SKIPPING);
    await reader.cancel();
  }
}

function answer(request: Extract<Request, { type: 'ask' }>): unknown {
  const { question } = request;
  const capture = request.capture === null ? null : captures.get(request.capture);
  if (!capture) throw 'This capture is not open.';
  switch (question.about) {
    case 'report':
      return capture.report(question.module);
    default:
      throw 'This question has no answer yet.';
  }
}

addEventListener('message', ({ data: request }: MessageEvent<Request>) => {
  switch (request.type) {
    case 'start':
      initSync({ module: request.engine });
      return;
    case 'open':
      void open(request.capture, request.blob, request.name);
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
