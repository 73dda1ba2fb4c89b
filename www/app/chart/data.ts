/** What a chart of bytes is made of. */

import { lastAtOrBefore, type Range } from '../lib/scale';

/** One layer of the stack. */
export interface Band {
  readonly key: string;
  readonly label: string;
  /** The custom property of its colour. */
  readonly color: string;
  /** How much lighter than that colour, for the second and third of one kind. */
  readonly tint: number;
  readonly striped: boolean;
  readonly values: ArrayLike<number>;
}

/** A level that the stack is measured against. */
export interface Level {
  readonly label: string;
  readonly bytes: number;
  readonly kind: 'capacity' | 'card';
}

export type SpanKind = 'ran' | 'unknown' | 'failed' | 'rescued';

/** Something that lasts. */
export interface Span {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly kind: SpanKind;
}

/** A row of spans above the stack. */
export interface Lane {
  readonly label: string;
  readonly spans: readonly Span[];
}

/** Bytes that were asked for and not there: drawn on top of what was in use, for as long as that lasted. */
export interface Refused {
  readonly from: number;
  readonly to: number;
  readonly inUse: number;
  /** 0 where unknown: then nothing is drawn. */
  readonly bytes: number;
  readonly kind: 'failed' | 'rescued';
  readonly label: string;
  /** To stand at the axis where the end is out of sight. */
  readonly goesOn: string;
}

/** A line above the stack: so much more than what is below it. */
export interface Line {
  readonly label: string;
  /** The custom property of its colour. */
  readonly color: string;
  /** At each moment; null where unknown. */
  readonly values: readonly (number | null)[];
  /** What it stands on, beside the stack; nothing, unless given. */
  readonly above?: readonly number[];
}

export interface Series {
  /** Moments, ascending; a band's value holds from its moment to the next. */
  readonly xs: ArrayLike<number>;
  readonly bands: readonly Band[];
  readonly lines: readonly Line[];
  /** The sum of the bands at each moment. */
  readonly totals: Float64Array;
  /** Index of the first maximum of the totals. */
  readonly peak: number;
  readonly whole: Range;
}

export function series(
  xs: ArrayLike<number>,
  bands: readonly Band[],
  whole?: Range,
  lines: readonly Line[] = [],
): Series {
  const totals = new Float64Array(xs.length);
  for (const band of bands)
    for (let i = 0; i < xs.length; i++) totals[i] = (totals[i] as number) + (band.values[i] ?? 0);
  let peak = 0;
  for (let i = 1; i < totals.length; i++) if ((totals[i] as number) > (totals[peak] as number)) peak = i;
  const from = xs[0] ?? 0;
  const to = xs[xs.length - 1] ?? 1;
  return { xs, bands, lines, totals, peak, whole: whole ?? { from, to: to > from ? to : from + 1 } };
}

/**
 * The part of a series in which something changes, as far as it can be read at once; the whole where that is most of it.
 * Of a long pause the busier side is kept; of a wait the side that led to it, with its beginning.
 */
export function busy(s: Series, waits: readonly number[]): Range {
  const { xs, totals, whole } = s;
  const moments = [...waits];
  // Changes that nobody could see count only beside a wait.
  const least = waits.length > 0 ? 1 : (totals[s.peak] ?? 0) / 500;
  for (let i = 1; i < xs.length; i++)
    if (Math.abs((totals[i] ?? 0) - (totals[i - 1] ?? 0)) >= least) moments.push(xs[i] as number);
  moments.sort((a, b) => a - b);
  // A pause that takes more of it leaves the rest no room; what led to a wait is worth some.
  const most = waits.length > 0 ? 0.9 : 0.75;
  let low = 0;
  let high = moments.length - 1;
  const at = (i: number) => moments[i] as number;
  while (low < high) {
    let pause = low;
    for (let i = low; i < high; i++) if (at(i + 1) - at(i) > at(pause + 1) - at(pause)) pause = i;
    if (at(pause + 1) - at(pause) < (at(high) - at(low)) * most) break;
    const wait = waits.find((w) => w >= at(low) && w <= at(high));
    if (wait === undefined ? pause - low >= high - pause - 1 : wait <= at(pause)) high = pause;
    else low = pause + 1;
  }
  const span = low < high ? at(high) - at(low) : 0;
  return span > 0 && span < (whole.to - whole.from) / 2
    ? { from: at(low) - span * 0.08, to: at(high) + span * 0.25 }
    : whole;
}

/** For each pixel column of a window the sample with the most bytes, by index; -1 before the first. */
export function columns({ xs, totals }: Series, window: Range, width: number): Int32Array {
  const most = new Int32Array(width).fill(-1);
  const per = (window.to - window.from) / width;
  // The last sample at or before the window's start holds at its start.
  let i = lastAtOrBefore(xs, window.from);
  for (let c = 0; c < width; c++) {
    const end = window.from + (c + 1) * per;
    let up = i;
    let next = i + 1;
    for (; next < xs.length && (xs[next] as number) < end; next++)
      if (up < 0 || (totals[next] as number) > (totals[up] as number)) up = next;
    i = next - 1;
    most[c] = up;
  }
  return most;
}
