/** A linear scale between values and pixels (or shares of a width). */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

export function at(scale: Scale, value: number): number {
  const span = scale.to - scale.from;
  return span === 0 ? scale.start : scale.start + ((value - scale.from) / span) * (scale.end - scale.start);
}

export function valueAt(scale: Scale, pixel: number): number {
  const span = scale.end - scale.start;
  return span === 0 ? scale.from : scale.from + ((pixel - scale.start) / span) * (scale.to - scale.from);
}

/** A window of a domain. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** `range` moved into `whole`, never narrower than `least` nor wider than the whole. */
export function within(range: Range, whole: Range, least: number): Range {
  const span = Math.min(whole.to - whole.from, Math.max(least, range.to - range.from));
  const middle = (range.from + range.to) / 2;
  const from = Math.min(
    Math.max(whole.from, range.to - range.from < least ? middle - span / 2 : range.from),
    whole.to - span,
  );
  return { from, to: from + span };
}

/** `range` scaled by `factor` (below 1 zooms in) around `anchor`, which stays where it is. */
export function zoom(range: Range, factor: number, anchor: number): Range {
  return { from: anchor - (anchor - range.from) * factor, to: anchor + (range.to - anchor) * factor };
}

/** The index of the last value at or before `x`; -1 where all are later. `xs` ascends. */
export function lastAtOrBefore(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if ((xs[mid] as number) <= x) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}
