/** The parts of the page's file that workers are made of. */

/** The text of a data block of the page. */
function block(id: string): string {
  const element = document.getElementById(id);
  if (!element) throw new Error(`this page is damaged: its part "${id}" is missing`);
  return element.textContent ?? '';
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** The core, unpacked and compiled off the main thread, once. */
export function engine(): Promise<WebAssembly.Module> {
  compiled ??= compile();
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('this browser is too old to unpack the program: Chromium 80, Firefox 113 or Safari 16.4 can');
  }
  const packed = Uint8Array.from(atob(block('engine')), (char) => char.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

let url: string | null = null;

/** A classic script: Chromium refuses module workers from a blob: URL on a `file://` page. */
export function workerUrl(): string {
  url ??= URL.createObjectURL(new Blob([block('worker')], { type: 'text/javascript' }));
  return url;
}
