/** From what a person drops, chooses or pastes to inputs for the analysis. */

import type { Input } from '../../client';

const input = (blob: File, path: string): Input => ({ blob, name: blob.name, path: path === '' ? blob.name : path });

/** The files of a chooser; of a folder chooser with their paths in it. */
export function chosen(files: FileList | readonly File[] | null): Input[] {
  return Array.from(files ?? []).map((f) => input(f, f.webkitRelativePath));
}

/** More files than that in one drop are a mistaken folder. */
const MOST_FILES = 20_000;

/** Everything that was dropped, folders with all that is inside. Must be called within the event. */
export async function dropped(data: DataTransfer): Promise<Input[]> {
  // Entries are only there while the event lasts: take them all before the first wait.
  const entries: (FileSystemEntry | File)[] = [];
  for (const item of Array.from(data.items)) {
    if (item.kind !== 'file') continue;
    const entry = item.webkitGetAsEntry?.() ?? null;
    const file = entry === null ? item.getAsFile() : null;
    if (entry !== null) entries.push(entry);
    else if (file !== null) entries.push(file);
  }
  const out: Input[] = [];
  for (const entry of entries) {
    if (entry instanceof File) out.push(input(entry, ''));
    else await walk(entry, out);
  }
  return out;
}

async function walk(entry: FileSystemEntry, out: Input[]): Promise<void> {
  if (out.length >= MOST_FILES) return;
  if (entry.isFile) {
    const file = await new Promise<File | null>((done) => (entry as FileSystemFileEntry).file(done, () => done(null)));
    if (file !== null) out.push(input(file, entry.fullPath.replace(/^\//, '')));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // A reader gives a folder in batches and an empty one at its end.
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((done) => reader.readEntries(done, () => done([])));
    if (batch.length === 0) return;
    batch.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const e of batch) await walk(e, out);
  }
}

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
