/** Bytes over a schedule or over time, in stacked bands: to read at the pointer, to choose a moment, to zoom and pan. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { lastAtOrBefore, type Range, valueAt, within, zoom } from '../lib/scale';
import { plain } from '../lib/text';
import { onPaper, onRepaint } from '../lib/theme';
import { size } from '../lib/units';
import { Name, Size } from '../ui/basic';
import type { Lane, Level, Refused, Series } from './data';
import { type Frame, frame, type Picture, paint, paintOver, paintOverview, xScale } from './draw';
import { listen } from './gestures';

interface Props {
  readonly label: string;
  readonly series: Series;
  readonly levels: readonly Level[];
  readonly lanes: readonly Lane[];
  readonly refused?: readonly Refused[];
  /** The least that the vertical axis reaches. */
  readonly top: number;
  readonly height: number;
  /** The chosen moment. */
  readonly selected: number;
  readonly onSelect: (x: number) => void;
  readonly onSpan?: (lane: number, key: string) => void;
  /** A moment in words: `event 185 of 644`. */
  readonly moment: (x: number) => string;
  readonly xTick: (x: number, step: number) => string;
  readonly xStep: (span: number, ticks: number) => number;
  /** The window to begin with; the whole, unless given. */
  readonly start?: Range;
  /** A window to show, when it changes: the run of one execution. */
  readonly show?: Range | null;
}

/** Never more than this many times the whole. */
const CLOSEST = 1e-6;

/** The width of a chart on paper: that of A4 within its margins. Other sheets scale it. */
const SHEET = 718;

const NOTHING: readonly Refused[] = [];

export function StackChart(props: Props) {
  const { series: s, levels, lanes, selected, refused = NOTHING, start = s.whole } = props;
  const [window_, setWindow] = useState<Range>(start);
  const [hover, setHover] = useState<number | null>(null);
  const [width, setWidth] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLCanvasElement>(null);
  const drag = useRef<Range | null>(null);

  const least = Math.max((s.whole.to - s.whole.from) * CLOSEST, Number.MIN_VALUE);
  const shown = within(window_, s.whole, least);
  const top = useMemo(() => Math.max(props.top, s.totals[s.peak] ?? 0, 1) * 1.06, [s, props.top]);
  const f: Frame = frame(width, props.height, lanes.length);
  const { xTick, xStep } = props;
  const picture: Picture = { series: s, window: shown, top, levels, lanes, refused, xTick, xStep };

  // Handlers outlive a rendering: they look here for what is current.
  const now = useRef({ f, picture, props, hover });
  now.current = { f, picture, props, hover };

  useEffect(() => setWindow(start), [s]);
  useEffect(() => {
    if (props.show) setWindow(props.show);
  }, [props.show]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => onPaper() || setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);

  /** Where things lie, and in how many dots for a pixel. */
  const place = () => {
    const c = now.current;
    return onPaper()
      ? { ...c, f: frame(SHEET, c.f.height, c.picture.lanes.length), density: Math.max(2, devicePixelRatio) }
      : { ...c, density: devicePixelRatio };
  };
  const drawOver = () => {
    // On paper what is clear is white: there all goes on one canvas.
    const canvas = onPaper() ? base.current : over.current;
    const ctx = canvas?.getContext('2d');
    if (!canvas || !ctx) return;
    const c = place();
    if (canvas === over.current) {
      ctx.resetTransform();
      ctx.clearRect(0, 0, canvas.width, canvas.height);
    }
    paintOver(ctx, c.f, c.density, c.picture, { selected: c.props.selected, hover: c.hover, drag: drag.current });
  };
  const draw = () => {
    const c = place();
    if (c.f.width <= 0) return;
    const { density } = c;
    for (const [canvas, wide, high] of [
      [base.current, c.f.width, c.f.height],
      [over.current, c.f.width, c.f.height],
      [strip.current, c.f.width - c.f.left - c.f.right, 32],
    ] as const) {
      if (canvas === null) continue;
      const pixels = Math.max(1, Math.round(wide * density));
      // A canvas is made anew by setting its size, be it the same.
      if (canvas.width !== pixels || canvas.height !== Math.round(high * density)) {
        canvas.width = pixels;
        canvas.height = Math.round(high * density);
      }
      canvas.style.width = onPaper() ? '100%' : `${Math.max(0, wide)}px`;
      canvas.style.height = onPaper() ? 'auto' : `${high}px`;
    }
    if (box.current !== null) box.current.style.height = onPaper() ? 'auto' : `${c.f.height}px`;
    const ctx = base.current?.getContext('2d');
    if (ctx) paint(ctx, c.f, c.picture, density);
    drawOver();
    const stripCtx = strip.current?.getContext('2d');
    if (stripCtx)
      paintOverview(stripCtx, c.f.width - c.f.left - c.f.right, 32, density, c.picture.series, c.picture.window);
  };

  useLayoutEffect(draw, [s, shown.from, shown.to, width, top, levels, lanes, refused, props.height]);
  useLayoutEffect(drawOver, [selected, hover]);
  useEffect(() => onRepaint(draw), []);

  useEffect(() => {
    const element = over.current;
    if (element === null) return;
    return listen(element, {
      value: (px) => valueAt(xScale(now.current.f, now.current.picture.window), px),
      window: () => now.current.picture.window,
      hover: (v) => setHover(v),
      choose: (v, y) => {
        const c = now.current;
        const lane = Math.floor((y - 4) / (c.f.lane + 4));
        if (y < c.f.top && lane >= 0 && lane < c.picture.lanes.length) {
          const slack = ((c.picture.window.to - c.picture.window.from) / Math.max(1, c.f.width)) * 4;
          const span = c.picture.lanes[lane]?.spans.find((s) => v >= s.from - slack && v <= s.to + slack);
          if (span !== undefined) c.props.onSpan?.(lane, span.key);
          return;
        }
        c.props.onSelect(snap(c.picture.series, v));
      },
      mark: (range) => {
        drag.current = range;
        drawOver();
      },
      show: setWindow,
      reset: () => setWindow(now.current.picture.series.whole),
    });
  }, []);

  useEffect(() => {
    const element = strip.current;
    if (element === null) return;
    let held: { x: number; window: Range } | null = null;
    const at = (e: PointerEvent) => {
      const r = element.getBoundingClientRect();
      const whole = now.current.picture.series.whole;
      return whole.from + ((e.clientX - r.left) / Math.max(1, r.width)) * (whole.to - whole.from);
    };
    const stop = new AbortController();
    const { signal } = stop;
    element.addEventListener(
      'pointerdown',
      (e) => {
        element.setPointerCapture(e.pointerId);
        const w = now.current.picture.window;
        const x = at(e);
        const half = (w.to - w.from) / 2;
        // Outside the window: bring it there first.
        held = { x, window: x >= w.from && x <= w.to ? w : { from: x - half, to: x + half } };
        setWindow(held.window);
      },
      { signal },
    );
    element.addEventListener(
      'pointermove',
      (e) => {
        if (held === null) return;
        const shift = at(e) - held.x;
        setWindow({ from: held.window.from + shift, to: held.window.to + shift });
      },
      { signal },
    );
    for (const end of ['pointerup', 'pointercancel'] as const)
      element.addEventListener(end, () => (held = null), { signal });
    return () => stop.abort();
  }, []);

  const index = lastAtOrBefore(s.xs, selected);
  const say = (i: number) => `${props.moment(s.xs[Math.max(0, i)] ?? selected)}: ${readingText(s, i)}`;
  const span = shown.to - shown.from;
  const zoomBy = (factor: number) =>
    setWindow(
      zoom(shown, factor, selected >= shown.from && selected <= shown.to ? selected : (shown.from + shown.to) / 2),
    );
  const goTo = (x: number) => {
    if (x < shown.from || x > shown.to) setWindow({ from: x - span / 2, to: x + span / 2 });
    props.onSelect(x);
  };
  const step = (by: number) => goTo(s.xs[Math.min(s.xs.length - 1, Math.max(0, index + by))] ?? selected);

  const onKeyDown = (e: KeyboardEvent) => {
    const act: Record<string, () => void> = {
      ArrowLeft: () => (e.shiftKey ? setWindow({ from: shown.from - span / 8, to: shown.to - span / 8 }) : step(-1)),
      ArrowRight: () => (e.shiftKey ? setWindow({ from: shown.from + span / 8, to: shown.to + span / 8 }) : step(1)),
      ArrowDown: () => step(-1),
      ArrowUp: () => step(1),
      PageDown: () => step(Math.ceil(s.xs.length / 20)),
      PageUp: () => step(-Math.ceil(s.xs.length / 20)),
      Home: () => goTo(s.xs[0] ?? selected),
      End: () => goTo(s.xs[s.xs.length - 1] ?? selected),
      p: () => goTo(s.xs[s.peak] ?? selected),
      '+': () => zoomBy(0.5),
      '=': () => zoomBy(0.5),
      '-': () => zoomBy(2),
      '0': () => setWindow(s.whole),
    };
    const action = e.ctrlKey || e.metaKey || e.altKey ? undefined : act[e.key];
    if (action === undefined) return;
    e.preventDefault();
    action();
  };

  const reading = hover === null ? index : lastAtOrBefore(s.xs, hover);
  const zoomed = span < (s.whole.to - s.whole.from) * 0.999;
  return (
    <div class="chart">
      <fieldset class="chart-tools">
        <legend class="offscreen">Zoom</legend>
        <button type="button" class="quiet" onClick={() => zoomBy(0.5)} aria-label="Zoom in">
          +
        </button>
        <button type="button" class="quiet" onClick={() => zoomBy(2)} aria-label="Zoom out" disabled={!zoomed}>
          −
        </button>
        <button type="button" class="quiet" onClick={() => setWindow(s.whole)} disabled={!zoomed}>
          All
        </button>
        <button type="button" class="quiet" onClick={() => goTo(s.xs[s.peak] ?? selected)}>
          Peak
        </button>
      </fieldset>
      <Reading series={s} index={reading} moment={props.moment} pointed={hover !== null} />
      <div
        ref={box}
        class="chart-box"
        style={{ height: `${props.height}px` }}
        tabIndex={0}
        role="slider"
        aria-label={props.label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, s.xs.length - 1)}
        aria-valuenow={Math.max(0, index)}
        aria-valuetext={say(index)}
        aria-describedby="chart-keys"
        onKeyDown={onKeyDown}
      >
        <canvas ref={base} />
        <canvas ref={over} class="over" />
        {lanes.map((lane, n) => (
          <span
            class="lane-label"
            style={{ top: `${4 + n * (f.lane + 4)}px`, width: `${f.left - 7}px` }}
            aria-hidden="true"
          >
            {lane.label}
          </span>
        ))}
      </div>
      <canvas ref={strip} class="strip" style={{ marginLeft: `${f.left}px` }} hidden={!zoomed} />
    </div>
  );
}

/** The moment of the sample that holds at `x`. */
function snap(s: Series, x: number): number {
  return s.xs[Math.max(0, lastAtOrBefore(s.xs, x))] ?? x;
}

function readingText(s: Series, index: number): string {
  if (index < 0) return 'before the first event';
  const parts = s.bands.flatMap((b) =>
    (b.values[index] ?? 0) > 0 ? [`${plain(b.label, 60)} ${size(b.values[index] ?? 0)}`] : [],
  );
  const above = s.lines.map((l) => `, ${l.label} ${l.values[index] == null ? 'unknown' : size(l.values[index])}`);
  return `${size(s.totals[index] ?? 0)}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}${above.join('')}`;
}

/** The legend, with the numbers at the pointer or at the chosen moment. */
function Reading({
  series: s,
  index,
  moment,
  pointed,
}: {
  series: Series;
  index: number;
  moment: (x: number) => string;
  pointed: boolean;
}) {
  return (
    <div class={`reading${pointed ? ' pointed' : ''}`}>
      <p class="reading-total">
        <Size bytes={index < 0 ? 0 : (s.totals[index] ?? 0)} />{' '}
        <span class="soft">{moment(s.xs[Math.max(0, index)] ?? 0)}</span>
      </p>
      <ul>
        {[...s.bands].reverse().map((b) => (
          <li key={b.key}>
            <i
              class={`chip fill-${b.color.slice(4)}${b.striped ? ' striped' : ''}`}
              style={b.tint > 0 ? { opacity: String(1 - b.tint) } : undefined}
              aria-hidden="true"
            />
            <span class="band-name">
              <Name text={b.label} most={44} />
            </span>{' '}
            <Size bytes={index < 0 ? 0 : (b.values[index] ?? 0)} />
          </li>
        ))}
        {s.lines.map((l) => (
          <li key={l.label}>
            <i class="chip dashed" style={{ borderColor: `var(${l.color})` }} aria-hidden="true" />
            <span class="band-name">{l.label}</span> <Size bytes={l.values[Math.max(0, index)] ?? null} />
          </li>
        ))}
      </ul>
    </div>
  );
}
