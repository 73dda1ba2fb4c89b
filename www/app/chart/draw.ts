/** Paints a chart of bytes. All positions are CSS pixels; the context is scaled to the device's. */

import { at, lastAtOrBefore, type Range, type Scale } from '../lib/scale';
import { color } from '../lib/theme';
import { byteStep, tickSize, ticksBetween } from '../lib/units';
import { columns, type Lane, type Level, type Line, type Refused, type Series, type SpanKind } from './data';

/** Where things lie. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  /** Height of one lane of spans. */
  readonly lane: number;
}

export interface Picture {
  readonly series: Series;
  readonly window: Range;
  readonly top: number;
  readonly levels: readonly Level[];
  readonly lanes: readonly Lane[];
  readonly refused: readonly Refused[];
  readonly xTick: (x: number, step: number) => string;
  readonly xStep: (span: number, ticks: number) => number;
}

export const LANE_COLOR: Readonly<Record<SpanKind, string>> = {
  ran: '--c-ran',
  unknown: '--c-unknown',
  failed: '--error',
  rescued: '--warning',
};

export function frame(width: number, height: number, lanes: number): Frame {
  const narrow = width < 520;
  const lane = 14;
  return { width, height, left: narrow ? 60 : 76, right: 10, top: 8 + lanes * (lane + 4), bottom: 24, lane };
}

export const xScale = (f: Frame, window: Range): Scale => ({ ...window, start: f.left, end: f.width - f.right });
export const yScale = (f: Frame, top: number): Scale => ({ from: 0, to: top, start: f.height - f.bottom, end: f.top });

/** Stripes to be laid over a colour, or on the ground. */
function stripes(ctx: CanvasRenderingContext2D, ink: string): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  if (t === null) return null;
  t.strokeStyle = color(ink);
  t.lineWidth = 2;
  t.beginPath();
  for (const d of [-8, 0, 8]) {
    t.moveTo(d - 1, 9);
    t.lineTo(d + 9, -1);
  }
  t.stroke();
  return ctx.createPattern(tile, 'repeat');
}

const fontOf = (): string => `11px ${getComputedStyle(document.body).fontFamily}`;

export function paint(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, density: number): void {
  ctx.setTransform(density, 0, 0, density, 0, 0);
  ctx.clearRect(0, 0, f.width, f.height);
  const x = xScale(f, p.window);
  const y = yScale(f, p.top);
  ctx.font = fontOf();
  graticule(ctx, f, p, x, y);
  ctx.save();
  ctx.beginPath();
  ctx.rect(f.left, 0, f.width - f.left - f.right, f.height - f.bottom);
  ctx.clip();
  stack(ctx, f, p, y);
  lanes(ctx, f, p.lanes, x);
  ctx.restore();
  refused(ctx, f, p, x, y);
}

/** Words on the ground of the chart, their right end at `px`. */
function words(ctx: CanvasRenderingContext2D, text: string, px: number, py: number, ink: string): void {
  const width = ctx.measureText(text).width;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  ctx.fillStyle = color('--panel');
  ctx.fillRect(px - width - 4, py - 8, width + 8, 15);
  ctx.fillStyle = color(ink);
  ctx.fillText(text, px, py);
}

/** Where the blocks of what was refused begin, of those in the window. */
const blocks = (f: Frame, p: Picture, x: Scale, y: Scale) =>
  p.refused
    .filter((r) => r.bytes > 0 && r.to >= x.from && r.from <= x.to)
    .map((r) => ({ r, a: Math.max(f.left, at(x, r.from)), high: Math.max(f.top, at(y, r.inUse + r.bytes)) }));

/** What was asked for and not there, sticking out of what was in use. */
function refused(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, x: Scale, y: Scale): void {
  const fill = { failed: stripes(ctx, LANE_COLOR.failed), rescued: stripes(ctx, LANE_COLOR.rescued) };
  ctx.lineWidth = 2;
  for (const { r, a, high } of blocks(f, p, x, y)) {
    const wide = Math.max(a + 4, at(x, Math.min(r.to, x.to))) - a;
    const tall = at(y, r.inUse) - high;
    ctx.fillStyle = fill[r.kind] ?? color(LANE_COLOR[r.kind]);
    ctx.fillRect(a, high, wide, tall);
    ctx.strokeStyle = color(LANE_COLOR[r.kind]);
    ctx.strokeRect(a + 1, high + 1, wide - 2, Math.max(0, tall - 2));
  }
}

/** What each block is, to its left where there is room between it and the one before. */
function refusedNames(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, x: Scale, y: Scale): void {
  let free = f.left;
  for (const { r, a, high } of blocks(f, p, x, y)) {
    if (a - ctx.measureText(r.label).width - 12 > free) words(ctx, r.label, a - 6, high + 8, LANE_COLOR[r.kind]);
    free = a;
  }
}

/** The grid of the instrument: fine lines at round values, their labels outside. */
function graticule(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, x: Scale, y: Scale): void {
  ctx.strokeStyle = color('--graticule');
  ctx.fillStyle = color('--ink-soft');
  ctx.lineWidth = 1;
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'right';
  ctx.beginPath();
  const step = byteStep(p.top, Math.max(2, Math.floor((f.height - f.top - f.bottom) / 44)));
  for (const v of ticksBetween(0, p.top, step)) {
    const py = Math.round(at(y, v)) + 0.5;
    ctx.moveTo(f.left, py);
    ctx.lineTo(f.width - f.right, py);
    ctx.fillText(tickSize(v, step), f.left - 7, py);
  }
  ctx.textBaseline = 'top';
  const span = p.window.to - p.window.from;
  const xStep = p.xStep(span, Math.max(2, Math.floor((f.width - f.left - f.right) / 110)));
  let goesOn = p.refused.find((r) => r.from <= x.to && r.to > x.to)?.goesOn ?? '';
  // The moments come first.
  if (ctx.measureText(goesOn).width > f.width / 3) goesOn = '→';
  const end = f.width - 1 - (goesOn === '' ? 0 : ctx.measureText(goesOn).width + 12);
  ctx.textAlign = 'right';
  ctx.fillText(goesOn, f.width - 4, f.height - f.bottom + 7);
  for (const v of ticksBetween(p.window.from, p.window.to, xStep)) {
    const px = Math.round(at(x, v)) + 0.5;
    ctx.moveTo(px, f.top);
    ctx.lineTo(px, f.height - f.bottom + 4);
    const label = p.xTick(v, xStep);
    const half = ctx.measureText(label).width / 2;
    ctx.textAlign = 'center';
    if (goesOn === '' || px + half < end) ctx.fillText(label, Math.min(px, end - half), f.height - f.bottom + 7);
  }
  ctx.stroke();
}

/** The bands. Where a pixel holds many moments it shows the fullest: no peak is too short to be seen. */
function stack(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, y: Scale): void {
  const wide = Math.max(1, Math.round(f.width - f.left - f.right));
  const most = columns(p.series, p.window, wide);
  const pattern = p.series.bands.some((b) => b.striped) ? stripes(ctx, '--stripe') : null;
  layers(ctx, f, p, y, most, pattern);
  for (const line of p.series.lines) lineAbove(ctx, f, p.series, line, y, most);
}

/** A line in steps, broken where its value is unknown. */
function lineAbove(ctx: CanvasRenderingContext2D, f: Frame, s: Series, line: Line, y: Scale, sample: Int32Array): void {
  ctx.beginPath();
  let open = false;
  for (let c = 0; c < sample.length; c++) {
    const i = sample[c] as number;
    const value = i < 0 ? null : line.values[i];
    if (value === null || value === undefined) {
      open = false;
      continue;
    }
    const py = at(y, (s.totals[i] as number) + (line.above?.[i] ?? 0) + value);
    if (open) ctx.lineTo(f.left + c, py);
    else ctx.moveTo(f.left + c, py);
    ctx.lineTo(f.left + c + 1, py);
    open = true;
  }
  ctx.strokeStyle = color(line.color);
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 3]);
  ctx.stroke();
  ctx.setLineDash([]);
}

function layers(
  ctx: CanvasRenderingContext2D,
  f: Frame,
  p: Picture,
  y: Scale,
  sample: Int32Array,
  pattern: CanvasPattern | null,
): void {
  const below = new Float64Array(sample.length);
  const above = new Float64Array(sample.length);
  let drawn = false;
  for (const band of p.series.bands) {
    let any = false;
    for (let c = 0; c < sample.length; c++) {
      const i = sample[c] as number;
      const v = i < 0 ? 0 : (band.values[i] ?? 0);
      if (v > 0) any = true;
      above[c] = (below[c] as number) + v;
    }
    if (any) {
      ctx.beginPath();
      edge(ctx, f, y, above, true);
      edge(ctx, f, y, below, false);
      ctx.closePath();
      ctx.fillStyle = color(band.color);
      ctx.fill();
      if (band.tint > 0) {
        ctx.globalAlpha = band.tint;
        ctx.fillStyle = color('--panel');
        ctx.fill();
        ctx.globalAlpha = 1;
      }
      if (band.striped && pattern !== null) {
        ctx.fillStyle = pattern;
        ctx.fill();
      }
      // A hair of the ground between neighbours, so that they part without colour: above each other alone, since upright
      // it would hide what is as narrow.
      if (drawn) {
        ctx.beginPath();
        for (let c = 0, from = 0; c < below.length; c++) {
          if (below[c + 1] === below[c]) continue;
          const py = at(y, below[c] as number);
          ctx.moveTo(f.left + from, py);
          ctx.lineTo(f.left + c + 1, py);
          from = c + 1;
        }
        ctx.strokeStyle = color('--panel');
        ctx.lineWidth = 0.75;
        ctx.stroke();
      }
      drawn = true;
    }
    below.set(above);
  }
}

/** A stepped edge, from left to right or back. Equal neighbours share one line. */
function edge(ctx: CanvasRenderingContext2D, f: Frame, y: Scale, values: Float64Array, forth: boolean): void {
  const n = values.length;
  const px = (c: number) => f.left + c;
  if (forth) {
    ctx.moveTo(px(0), at(y, values[0] ?? 0));
    for (let c = 1; c <= n; c++) {
      if (c < n && values[c] === values[c - 1]) continue;
      ctx.lineTo(px(c), at(y, values[c - 1] as number));
      if (c < n) ctx.lineTo(px(c), at(y, values[c] as number));
    }
  } else {
    ctx.lineTo(px(n), at(y, values[n - 1] ?? 0));
    for (let c = n - 1; c >= 0; c--) {
      if (c > 0 && values[c] === values[c - 1]) continue;
      ctx.lineTo(px(c), at(y, values[c] as number));
      if (c > 0) ctx.lineTo(px(c), at(y, values[c - 1] as number));
    }
  }
}

function lanes(ctx: CanvasRenderingContext2D, f: Frame, all: readonly Lane[], x: Scale): void {
  for (const [n, lane] of all.entries()) {
    const top = 4 + n * (f.lane + 4);
    ctx.fillStyle = color('--lane');
    ctx.fillRect(f.left, top, f.width - f.left - f.right, f.lane);
    // What failed is drawn over what ran.
    for (const kind of ['ran', 'unknown', 'rescued', 'failed'] as const) {
      ctx.fillStyle = color(LANE_COLOR[kind]);
      let drawn = Number.NEGATIVE_INFINITY;
      for (const s of lane.spans) {
        if (s.kind !== kind || s.to < x.from || s.from > x.to) continue;
        const a = Math.max(f.left, at(x, s.from));
        const b = Math.min(f.width - f.right, Math.max(a + (kind === 'ran' ? 1 : 3), at(x, s.to)));
        // Thousands on one pixel look like one.
        if (b <= drawn) continue;
        ctx.fillRect(Math.max(a, drawn + 0.5), top + 2, Math.max(0.5, b - Math.max(a, drawn + 0.5)), f.lane - 4);
        drawn = b;
      }
    }
  }
}

/** Capacity and card, named where nothing that was refused lies. One above the frame is named at its top edge. */
function levels(ctx: CanvasRenderingContext2D, f: Frame, p: Picture, y: Scale): void {
  const right = f.width - f.right;
  const left = p.refused.length > 0;
  let beside = 0;
  let last = Number.NaN;
  ctx.lineWidth = 1.5;
  for (const level of p.levels) {
    const above = level.bytes > p.top;
    const py = above ? f.top + 17 : Math.round(at(y, level.bytes)) + 0.5;
    if (!above) {
      ctx.strokeStyle = color('--ink');
      ctx.setLineDash(level.kind === 'card' ? [2, 4] : []);
      ctx.beginPath();
      ctx.moveTo(f.left, py);
      ctx.lineTo(right, py);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    // Levels that are nearly one have their names side by side.
    const name = above ? `${level.label} ↑` : level.label;
    const wide = ctx.measureText(name).width + 12;
    if (!(Math.abs(py - last) < 15)) beside = left ? f.left - 4 : right + 8;
    last = py;
    words(ctx, name, left ? beside + wide : beside - 12, py - 8, '--ink');
    beside += left ? wide : -wide;
  }
}

/** The chosen moment, the peak and the pointer, on a layer of their own. */
export function paintOver(
  ctx: CanvasRenderingContext2D,
  f: Frame,
  density: number,
  p: Picture,
  over: { readonly selected: number; readonly hover: number | null; readonly drag: Range | null },
): void {
  ctx.setTransform(density, 0, 0, density, 0, 0);
  const x = xScale(f, p.window);
  const y = yScale(f, p.top);
  const inside = (v: number) => v >= p.window.from && v <= p.window.to;
  const vertical = (v: number, style: string, width: number, dash: number[], to = f.height - f.bottom) => {
    const px = Math.round(at(x, v)) + 0.5;
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(px, 4);
    ctx.lineTo(px, to);
    ctx.stroke();
    ctx.setLineDash([]);
    return px;
  };
  if (over.drag !== null) {
    const a = at(x, over.drag.from);
    const b = at(x, over.drag.to);
    ctx.fillStyle = color('--selection');
    ctx.fillRect(Math.min(a, b), f.top, Math.abs(b - a), f.height - f.top - f.bottom);
  }
  if (over.hover !== null && inside(over.hover)) vertical(over.hover, color('--ink-soft'), 1, [3, 3]);
  const chosen = inside(over.selected);
  // Open over the data: a peak can be as narrow as the line.
  const high = p.series.totals[Math.max(0, lastAtOrBefore(p.series.xs, over.selected))] ?? 0;
  const px = chosen ? vertical(over.selected, color('--focus'), 2, [], at(y, high) - 2) : 0;
  ctx.font = fontOf();
  levels(ctx, f, p, y);
  refusedNames(ctx, f, p, x, y);
  const peak = p.series.xs[p.series.peak];
  if (peak !== undefined && inside(peak)) {
    const px = at(x, peak);
    const py = at(y, p.series.totals[p.series.peak] as number);
    ctx.fillStyle = color('--ink');
    ctx.beginPath();
    ctx.moveTo(px, py - 2);
    ctx.lineTo(px - 5, py - 10);
    ctx.lineTo(px + 5, py - 10);
    ctx.closePath();
    ctx.fill();
  }
  if (chosen) {
    ctx.fillStyle = color('--focus');
    ctx.beginPath();
    ctx.moveTo(px, f.height - f.bottom - 1);
    ctx.lineTo(px - 5, f.height - f.bottom + 6);
    ctx.lineTo(px + 5, f.height - f.bottom + 6);
    ctx.closePath();
    ctx.fill();
  }
}

const silhouettes = new WeakMap<Series, { wide: number; path: Path2D }>();

/** The outline of a whole series, made once for a width: it stays while the window over it moves. */
function silhouette(s: Series, wide: number, width: number, y: Scale): Path2D {
  const kept = silhouettes.get(s);
  if (kept?.wide === wide) return kept.path;
  const path = new Path2D();
  const most = columns(s, s.whole, wide);
  path.moveTo(0, y.start);
  for (let c = 0; c < wide; c++) {
    const i = most[c] as number;
    const v = at(y, i < 0 ? 0 : (s.totals[i] as number));
    path.lineTo((c / wide) * width, v);
    path.lineTo(((c + 1) / wide) * width, v);
  }
  path.lineTo(width, y.start);
  silhouettes.set(s, { wide, path });
  return path;
}

/** The whole of the series in a strip, with the window that is shown. */
export function paintOverview(
  ctx: CanvasRenderingContext2D,
  width: number,
  height: number,
  density: number,
  s: Series,
  window: Range,
): void {
  ctx.setTransform(density, 0, 0, density, 0, 0);
  ctx.clearRect(0, 0, width, height);
  const x: Scale = { ...s.whole, start: 0, end: width };
  const top = (s.totals[s.peak] ?? 0) * 1.05 || 1;
  const y: Scale = { from: 0, to: top, start: height, end: 2 };
  const wide = Math.max(1, Math.round(width * density));
  ctx.fillStyle = color('--ink-faint');
  ctx.fill(silhouette(s, wide, width, y));
  const a = at(x, window.from);
  const b = Math.max(a + 4, at(x, window.to));
  ctx.fillStyle = color('--shade');
  ctx.fillRect(0, 0, a, height);
  ctx.fillRect(b, 0, width - b, height);
  ctx.strokeStyle = color('--focus');
  ctx.lineWidth = 2;
  ctx.strokeRect(a + 1, 1, Math.max(2, b - a - 2), height - 2);
}
