/** The parts of the page's file that workers are made of. */

import type { Reply, Request } from './protocol';

/** The text of a data block of the page. */
function block(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`this page is damaged: its part "${id}" is missing`);
  return element.textContent ?? '';
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** The core, compiled once for all workers, by a worker of its own so that the page stays fluid. */
export function engine(): Promise<WebAssembly.Module> {
  compiled ??= new Promise((resolve, reject) => {
    const worker = new Worker(workerUrl());
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.type === 'engine') resolve(data.engine);
      else if (data.type === 'fault') reject(new Error(data.message));
      worker.terminate();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message || 'this browser does not let the page start a worker'));
    };
    worker.postMessage({ type: 'unpack', packed: block('engine') } satisfies Request);
  });
  return compiled;
}

let url: string | null = null;

/** A classic script: Chromium refuses module workers from a blob: URL on a `file://` page. */
export function workerUrl(): string {
  url ??= URL.createObjectURL(new Blob([block('worker')], { type: 'text/javascript' }));
  return url;
}
