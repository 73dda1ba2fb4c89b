/** The buffers of a moment by role and module path, to scale. */

import { type HierarchyRectangularNode, treemapSquarify } from 'd3-hierarchy';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Buffer } from '../../generated/report';
import { KIND, ROLE, type Swatch } from '../lib/palette';
import { bareShape, bufferKey, modulePath } from '../lib/stack';
import { plain } from '../lib/text';
import { useSize } from '../ui/basic';

/** A part of the map: a buffer, several small ones together, or a group of parts. */
interface Node {
  readonly name: string;
  readonly swatch: Swatch | null;
  readonly buffer: Buffer | null;
  readonly depth: number;
  /** Bytes, its children's included. */
  value: number;
  children: Node[] | undefined;
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** Cells; smaller ones are counted together. */
const MOST_CELLS = 200;

export const swatchOf = (b: Buffer): Swatch => (b.kind === 'temp' ? ROLE[b.role] : KIND[b.kind]);

/** Another part of a group, or of nothing. */
function add(to: Node | null, name: string, swatch: Swatch | null, value = 0, buffer: Buffer | null = null): Node {
  const depth = to === null ? 0 : to.depth + 1;
  const node: Node = { name, swatch, buffer, depth, value, children: undefined, x0: 0, y0: 0, x1: 0, y1: 0 };
  if (to !== null) to.children = [...(to.children ?? []), node];
  return node;
}

const child = (of: Node, name: string, swatch: Swatch): Node =>
  of.children?.find((c) => c.name === name && c.buffer === null) ?? add(of, name, swatch);

function tree(buffers: readonly Buffer[]): Node {
  const root = add(null, '', null);
  const rest = new Map<Node, { bytes: number; count: number }>();
  for (const [i, b] of buffers.entries()) {
    const swatch = swatchOf(b);
    const label = b.kind === 'temp' || b.kind === 'donated' ? swatch.label : `${swatch.label}s`;
    const group = child(root, label, swatch);
    const bytes = b.bytes * b.count;
    if (i >= MOST_CELLS) {
      const r = rest.get(group) ?? { bytes: 0, count: 0 };
      rest.set(group, { bytes: r.bytes + bytes, count: r.count + b.count });
      continue;
    }
    const path = modulePath(b.op_name);
    // The last part is the operation; two parts are as much as a cell can show.
    let at = group;
    for (const part of path.slice(0, -1).slice(0, 2)) at = child(at, part, swatch);
    add(at, '', swatch, bytes, b);
  }
  for (const [group, r] of rest) add(group, `${r.count} smaller`, group.swatch, r.bytes);
  return root;
}

/** Sums up from the leaves, the largest of each group first. */
function sum(n: Node): number {
  for (const c of n.children ?? []) n.value += sum(c);
  n.children?.sort((a, b) => b.value - a.value);
  return n.value;
}

/** Room above the parts of a group for its name. */
function headOf(n: Node): number {
  const [wide, high] = [n.x1 - n.x0, n.y1 - n.y0];
  if (n.depth === 1) return wide > 30 && high > 30 ? 17 : 0;
  return n.depth === 2 && wide > 70 && high > 40 ? 15 : 0;
}

/** Gives a part and all of its own their places, a pixel between neighbours, and lists them. */
function layOut(n: Node, into: Node[] = []): Node[] {
  into.push(n);
  const half = n.depth > 0 ? 0.5 : 0;
  const inset = (from: number, to: number, by: number, at = by): [number, number] =>
    to - by < from + at ? [(from + to) / 2, (from + to) / 2] : [from + at, to - by];
  [n.x0, n.x1] = inset(n.x0, n.x1, half);
  [n.y0, n.y1] = inset(n.y0, n.y1, half);
  if (n.children !== undefined) {
    const [x0, x1] = inset(n.x0, n.x1, -0.5);
    const [y0, y1] = inset(n.y0, n.y1, -0.5, headOf(n) - 0.5);
    treemapSquarify(n as unknown as HierarchyRectangularNode<unknown>, x0, y0, x1, y1);
    for (const c of n.children) layOut(c, into);
  }
  // Only now, since the places of its parts are shares of its own.
  for (const edge of ['x0', 'y0', 'x1', 'y1'] as const) n[edge] = Math.round(n[edge]);
  return into;
}

interface Props {
  readonly buffers: readonly Buffer[];
  readonly height: number;
  readonly selected: string | null;
  readonly onSelect: (key: string | null) => void;
  readonly label: string;
}

export function Treemap({ buffers, height, selected, onSelect, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSize();
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);

  const nodes = useMemo(() => {
    if (width === 0) return [];
    const root = tree(buffers);
    sum(root);
    return layOut(Object.assign(root, { x1: width, y1: height }));
  }, [buffers, width, height]);

  const leaves = nodes.filter((n) => n.children === undefined && n.x1 > n.x0 && n.y1 > n.y0);
  // In the order of the eye, and of the keys: the largest first.
  const cells = leaves.filter((n) => n.buffer !== null).sort((a, b) => b.value - a.value);
  const keyOf = (n: Node) => (n.buffer === null ? '' : bufferKey(n.buffer));
  const active = cells.some((n) => keyOf(n) === selected) ? selected : (cells[0] && keyOf(cells[0])) || null;

  const onKeyDown = (e: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    const to =
      e.key === 'Home'
        ? 0
        : e.key === 'End'
          ? cells.length - 1
          : by === undefined
            ? null
            : cells.findIndex((n) => keyOf(n) === active) + by;
    if (e.key === 'Escape') onSelect(null);
    if (e.key === 'Enter' || e.key === ' ') {
      e.preventDefault();
      onSelect(active === selected ? null : active);
    }
    if (to === null) return;
    e.preventDefault();
    const next = cells[Math.max(0, Math.min(cells.length - 1, to))];
    if (next === undefined) return;
    onSelect(keyOf(next));
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
  };

  // In shares, so that it fits paper too.
  const place = (n: Node) => ({
    left: `${(n.x0 / width) * 100}%`,
    top: `${n.y0}px`,
    width: `${((n.x1 - n.x0) / width) * 100}%`,
    height: `${n.y1 - n.y0}px`,
  });
  return (
    <div
      ref={box}
      class="treemap"
      style={{ height: `${height}px` }}
      role="listbox"
      aria-label={label}
      onKeyDown={onKeyDown}
    >
      {nodes
        .filter((n) => n.depth > 0 && n.children !== undefined && n.y1 - n.y0 > 26 && n.x1 - n.x0 > 30)
        .map((n) => (
          <span class={`group group-${Math.min(3, n.depth)}`} style={place(n)} aria-hidden="true">
            {n.depth <= 2 && (n.depth === 1 || (n.x1 - n.x0 > 70 && n.y1 - n.y0 > 40)) && (
              <b>
                {plain(n.name, 40)} {n.depth === 1 && <span>{size(n.value)}</span>}
              </b>
            )}
          </span>
        ))}
      {leaves.map((n) => {
        const b = n.buffer;
        const fill = `cell fill-${n.swatch?.key}${n.swatch?.striped ? ' striped' : ''}`;
        if (b === null)
          return (
            <span class={`${fill} rest`} style={place(n)} data-tip={`${n.name}, ${size(n.value)}`} aria-hidden="true" />
          );
        const key = bufferKey(b);
        const words = `${bareShape(b.shape)}${b.count > 1 ? ` ×${b.count}` : ''}`;
        const whole = `${plain(words, 60)} ${size(b.bytes * b.count)}, ${n.swatch?.label}${b.op_name === null ? '' : `, ${plain(b.op_name, 160)}`}`;
        const [wide, high] = [n.x1 - n.x0, n.y1 - n.y0];
        const sized = <span class={wide > 64 ? '' : 'narrow'}>{size(b.bytes * b.count)}</span>;
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys of all its options
          <div
            key={key}
            role="option"
            class={`${fill}${key === selected ? ' chosen' : ''}`}
            style={place(n)}
            data-tip={whole}
            aria-label={whole}
            aria-selected={key === selected}
            tabIndex={key === active ? 0 : -1}
            onClick={() => onSelect(key === selected ? null : key)}
          >
            {high > (wide > 64 ? 16 : 32) &&
              (wide > 64 ? (
                <>
                  <span>{plain(words, 60)}</span> {high > 32 && sized}
                </>
              ) : (
                wide > 46 && sized
              ))}
          </div>
        );
      })}
    </div>
  );
}
