/**
 * Names in a capture are anyone's bytes until they are shown as text.
 *
 * What would be invisible or would change how its surroundings read (control characters, bidirectional overrides,
 * zero-width characters, lone surrogates) is shown as what it is; what is too long is cut in the middle, where names
 * of XLA and paths carry least.
 */

/** A stretch of a name: text as it stands, or a sign for something that cannot be seen. */
export interface Part {
  readonly text: string;
  /** For a sign: what it stands for, `U+202E`. */
  readonly code: string | null;
}

// Controls, zero-width and bidirectional formatting, line separators, byte-order marks, tags, lone surrogates.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

function sign(c: string): Part {
  const code = c.codePointAt(0) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return { text: `⟨${name}⟩`, code: name };
}

/** A text in parts, with a sign in place of everything that cannot be seen. */
export function parts(text: string): Part[] {
  const out: Part[] = [];
  let from = 0;
  for (const m of text.matchAll(UNSEEN)) {
    if (m.index > from) out.push({ text: text.slice(from, m.index), code: null });
    out.push(sign(m[0]));
    from = m.index + m[0].length;
  }
  if (from < text.length) out.push({ text: text.slice(from), code: null });
  return out;
}

/** The same as one string, for titles, labels and options, where no elements can stand. */
export function plain(text: string, most = Number.POSITIVE_INFINITY): string {
  return cut(text, most).replace(UNSEEN, (c) => sign(c).text);
}

/** At most about `most` characters: the first part, an ellipsis, the last part. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor(most * 0.4);
  // No half of a surrogate pair at the cut.
  const head = text.slice(0, most - tail - 1).replace(/[\ud800-\udbff]$/, '');
  const end = text.slice(text.length - tail).replace(/^[\udc00-\udfff]/, '');
  return `${head}…${end}`;
}

/** The last part of a path, with the folder it lies in. */
export function shortPath(path: string): string {
  const at = path.split(/[\\/]/).filter((p) => p !== '');
  return at.slice(-2).join('/') || path;
}

/** A name that a file system takes. */
export function fileName(text: string): string {
  return cut(plain(text).replace(/[\\/:*?"<>|\s]+/g, '_'), 120).replace(/^\.+/, '') || 'report';
}

/** Paths at most about `most` characters long, so that what tells them apart stays: of long ones the folders that all have in common go. */
export function apart(paths: readonly string[], most: number): string[] {
  const folders = paths[0]?.split('/').slice(0, -1) ?? [];
  let common = '';
  for (const folder of folders) {
    const next = `${common}${folder}/`;
    if (!paths.every((p) => p.startsWith(next))) break;
    common = next;
  }
  return paths.map((p) => cut(p.length > most && common !== '' ? `…/${p.slice(common.length)}` : p, most));
}
