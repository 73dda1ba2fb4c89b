// The built core under Node, given files as the page's worker gives it Blobs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Capture, initSync, Opening } from '../../pkg/oomscope.js';
import { root } from '../../scripts/page.mjs';

/** What the core uses of a Blob. */
class Bytes {
  /** @param {Uint8Array<ArrayBuffer>} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.size = bytes.length;
  }

  /** @param {number} start @param {number} end */
  slice(start, end) {
    return new Bytes(this.bytes.subarray(start, end));
  }
}

/** Reads so far: each costs 0.3 to 0.8 ms in a browser. */
export const reads = { count: 0 };

Object.assign(globalThis, {
  FileReaderSync: class {
    /** @param {Bytes} blob */
    readAsArrayBuffer(blob) {
      reads.count++;
      return blob.bytes.slice().buffer;
    }
  },
  oomscopeFault: (/** @type {string} */ message) => console.error(message),
});

const { memory } = initSync({ module: readFileSync(join(root, 'pkg/oomscope_bg.wasm')) });

/** Bytes of the core's memory; it never shrinks. */
export const memoryBytes = () => memory.buffer.byteLength;

/**
 * Reads a file. Throws a sentence where it is none that can be read.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} name
 * @param {(left: number) => number} [chunk] how many bytes the stream gives next
 * @returns {Capture}
 */
export function open(bytes, name, chunk = () => 64 << 10) {
  const opening = new Opening(/** @type {any} */ (new Bytes(bytes)), name);
  for (let at = opening.wants(); at !== undefined && at < bytes.length; ) {
    const end = Math.min(bytes.length, at + chunk(bytes.length - at));
    opening.feed(at, bytes.subarray(at, end));
    at = end;
    const wants = opening.wants();
    if (wants === undefined) break;
    at = Math.max(at, wants);
  }
  return opening.finish();
}
