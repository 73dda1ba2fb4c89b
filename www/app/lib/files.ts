/** From what a person drops, chooses or pastes to inputs for the analysis. */

import type { Input, Item } from '../../client';
import { apart, plain } from './text';

const input = (blob: File, path: string): Input => ({
  blob,
  name: blob.name,
  path: path === '' ? blob.name : path,
  modified: blob.lastModified,
});

/** Captures by their paths, as far as these tell them apart. */
export function labels(items: readonly Item[], most: number): string[] {
  const seen = new Map<string, number>();
  return apart(
    items.map((i) => i.path || i.name),
    most,
  ).map((path) => {
    const nth = (seen.get(path) ?? 0) + 1;
    seen.set(path, nth);
    return plain(nth > 1 ? `${path} (${nth})` : path);
  });
}

/** The files of a chooser; of a folder chooser with their paths in it. */
export function chosen(files: FileList | readonly File[] | null): Input[] {
  return Array.from(files ?? []).map((f) => input(f, f.webkitRelativePath));
}

/** More files than that in one drop are a mistaken folder. */
const MOST_FILES = 20_000;

/** What a drop holds of one thing: a file, or a folder in one or two ways of reading it. */
interface Dropped {
  readonly file: File | null;
  readonly folder: FileSystemDirectoryEntry | null;
  readonly handle: Promise<FileSystemHandle | null> | null;
}

interface HasHandles {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}

/** Everything that was dropped, folders with all that is inside. Must be called within the event. */
export async function dropped(data: DataTransfer): Promise<Input[]> {
  // What is dropped is only there while the event lasts: take it all before the first wait.
  const all: Dropped[] = [];
  for (const item of Array.from(data.items)) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry?.() ?? null;
    const folder = entry?.isDirectory ? (entry as FileSystemDirectoryEntry) : null;
    // On a page from the disk Chromium lists folders by handles alone.
    const handle =
      folder !== null && location.protocol === 'file:' ? (item as HasHandles).getAsFileSystemHandle?.() : undefined;
    all.push({ file: folder === null ? item.getAsFile() : null, folder, handle: handle?.catch(() => null) ?? null });
  }
  const out: Input[] = [];
  for (const { file, folder, handle } of all) {
    if (file !== null) out.push(input(file, ''));
    const held = await handle;
    if (held) await walkHandle(held, held.name, out);
    else if (folder !== null) await walk(folder, out);
  }
  return out;
}

async function walkHandle(at: FileSystemHandle, path: string, out: Input[]): Promise<void> {
  if (out.length >= MOST_FILES) return;
  if (at.kind === 'file') {
    const file = await (at as FileSystemFileHandle).getFile().catch(() => null);
    if (file !== null) out.push(input(file, path));
    return;
  }
  const inside: FileSystemHandle[] = [];
  for await (const one of (at as FileSystemDirectoryHandle).values()) inside.push(one);
  for (const one of inside.sort(byName)) await walkHandle(one, `${path}/${one.name}`, out);
}

async function walk(entry: FileSystemEntry, out: Input[]): Promise<void> {
  if (out.length >= MOST_FILES) return;
  if (entry.isFile) {
    const file = await new Promise<File | null>((done) => (entry as FileSystemFileEntry).file(done, () => done(null)));
    if (file !== null) out.push(input(file, entry.fullPath.replace(/^\//, '')));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const inside: FileSystemEntry[] = [];
  // A reader gives a folder in batches and an empty one at its end.
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((done) => reader.readEntries(done, () => done([])));
    if (batch.length === 0) break;
    inside.push(...batch);
  }
  for (const one of inside.sort(byName)) await walk(one, out);
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);

/** A pasted text as a file, so that one reader serves both. */
export function pasted(text: string): Input {
  return { blob: new Blob([text], { type: 'text/plain' }), name: 'pasted text', path: 'pasted text' };
}

/** Hands a text to the browser's downloads. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  // The download has its own hold on the blob once it has started.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Puts a text on the clipboard; false where the browser won't. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without permission or on an insecure origin: the old way still works after a click.
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('readonly', '');
    area.className = 'offscreen';
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
