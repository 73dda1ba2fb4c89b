/**
 * Mouse, wheel and touch on a chart.
 *
 * Mouse: move reads, click chooses, drag marks a range to zoom into, drag with Shift pans, double click shows everything.
 * Wheel: with Ctrl (which is also a pinch on a touchpad) zooms, sideways or with Shift pans; a plain wheel scrolls the page.
 * Touch: tap chooses, one finger sideways pans, two zoom.
 */

import type { Range } from '../lib/scale';

export interface Handlers {
  /** The value under a pixel from the chart's left edge. */
  value(pixel: number): number;
  window(): Range;
  hover(value: number | null): void;
  choose(value: number, pixelY: number): void;
  mark(range: Range | null): void;
  show(range: Range): void;
  reset(): void;
}

interface Held {
  readonly x: number;
  readonly y: number;
  readonly value: number;
  readonly window: Range;
  readonly pan: boolean;
  moved: boolean;
}

export function listen(element: HTMLElement, on: Handlers): () => void {
  const held = new Map<number, Held>();
  let pinch: { distance: number; window: Range; anchor: number } | null = null;
  const stop = new AbortController();
  const { signal } = stop;
  const place = (e: { clientX: number; clientY: number }) => {
    const box = element.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  };
  const positions = new Map<number, number>();

  element.addEventListener(
    'pointerdown',
    (e) => {
      if (e.button !== 0) return;
      const { x, y } = place(e);
      element.setPointerCapture(e.pointerId);
      positions.set(e.pointerId, x);
      held.set(e.pointerId, {
        x,
        y,
        value: on.value(x),
        window: on.window(),
        pan: e.pointerType !== 'mouse' || e.shiftKey,
        moved: false,
      });
      if (held.size === 2) {
        const [a, b] = [...positions.values()] as [number, number];
        pinch = { distance: Math.max(10, Math.abs(a - b)), window: on.window(), anchor: on.value((a + b) / 2) };
        for (const h of held.values()) h.moved = true;
      }
    },
    { signal },
  );
  element.addEventListener(
    'pointermove',
    (e) => {
      const { x } = place(e);
      const h = held.get(e.pointerId);
      if (h === undefined) {
        on.hover(on.value(x));
        return;
      }
      positions.set(e.pointerId, x);
      if (pinch !== null && held.size === 2) {
        const [a, b] = [...positions.values()] as [number, number];
        const factor = pinch.distance / Math.max(10, Math.abs(a - b));
        on.show({
          from: pinch.anchor - (pinch.anchor - pinch.window.from) * factor,
          to: pinch.anchor + (pinch.window.to - pinch.anchor) * factor,
        });
        return;
      }
      if (Math.abs(x - h.x) > 4) h.moved = true;
      if (!h.moved) return;
      if (h.pan) {
        // By the window as it was, so that the finger stays on what it took hold of.
        const shift = h.value - (on.value(x) - on.window().from + h.window.from);
        on.show({ from: h.window.from + shift, to: h.window.to + shift });
      } else {
        on.mark({ from: h.value, to: on.value(x) });
        on.hover(on.value(x));
      }
    },
    { signal },
  );
  const release = (e: PointerEvent, done: boolean) => {
    const h = held.get(e.pointerId);
    held.delete(e.pointerId);
    positions.delete(e.pointerId);
    if (held.size < 2) pinch = null;
    if (h === undefined) return;
    const { x, y } = place(e);
    on.mark(null);
    if (!done) return;
    if (!h.moved) on.choose(h.value, y);
    else if (!h.pan) {
      const other = on.value(x);
      on.show({ from: Math.min(h.value, other), to: Math.max(h.value, other) });
    }
  };
  element.addEventListener('pointerup', (e) => release(e, true), { signal });
  element.addEventListener('pointercancel', (e) => release(e, false), { signal });
  element.addEventListener('pointerleave', () => on.hover(null), { signal });
  element.addEventListener('dblclick', () => on.reset(), { signal });
  element.addEventListener(
    'wheel',
    (e) => {
      const w = on.window();
      const sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        const anchor = on.value(place(e).x);
        const factor = Math.exp(Math.max(-1, Math.min(1, e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.004))));
        on.show({ from: anchor - (anchor - w.from) * factor, to: anchor + (w.to - anchor) * factor });
      } else if (sideways || e.shiftKey) {
        e.preventDefault();
        const shift = ((sideways ? e.deltaX : e.deltaY) / Math.max(1, element.clientWidth)) * (w.to - w.from);
        on.show({ from: w.from + shift, to: w.to + shift });
      }
    },
    { signal, passive: false },
  );
  return () => stop.abort();
}
