/** What a chart of bytes is made of. */

import type { Range } from '../lib/scale';

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

export interface Series {
  /** Moments, ascending; a band's value holds from its moment to the next. */
  readonly xs: ArrayLike<number>;
  readonly bands: readonly Band[];
  /** The sum of the bands at each moment. */
  readonly totals: Float64Array;
  /** Index of the first maximum of the totals. */
  readonly peak: number;
  readonly whole: Range;
}

export function series(xs: ArrayLike<number>, bands: readonly Band[], whole?: Range): Series {
  const totals = new Float64Array(xs.length);
  for (const band of bands)
    for (let i = 0; i < xs.length; i++) totals[i] = (totals[i] as number) + (band.values[i] ?? 0);
  let peak = 0;
  for (let i = 1; i < totals.length; i++) if ((totals[i] as number) > (totals[peak] as number)) peak = i;
  const from = xs[0] ?? 0;
  const to = xs[xs.length - 1] ?? 1;
  return { xs, bands, totals, peak, whole: whole ?? { from, to: to > from ? to : from + 1 } };
}

/** For each pixel column of a window: the sample with the most bytes and the one with the least, by index. */
export function columns(
  s: Series,
  window: Range,
  width: number,
): { most: Int32Array; least: Int32Array; dense: boolean } {
  const most = new Int32Array(width).fill(-1);
  const least = new Int32Array(width).fill(-1);
  const per = (window.to - window.from) / width;
  const { xs, totals } = s;
  let i = 0;
  // The last sample at or before the window's start holds at its start.
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if ((xs[mid] as number) <= window.from) low = mid + 1;
    else high = mid;
  }
  i = low - 1;
  let dense = false;
  for (let c = 0; c < width; c++) {
    const end = window.from + (c + 1) * per;
    let up = i;
    let down = i;
    let next = i + 1;
    for (; next < xs.length && (xs[next] as number) < end; next++) {
      if (up < 0 || (totals[next] as number) > (totals[up] as number)) up = next;
      if (down < 0 || (totals[next] as number) < (totals[down] as number)) down = next;
    }
    i = next - 1;
    most[c] = up;
    least[c] = down;
    if (up !== down) dense = true;
  }
  return { most, least, dense };
}
