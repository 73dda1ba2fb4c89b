/** The buffers of a moment by role and module path, to scale. */

import { type HierarchyRectangularNode, hierarchy, treemap } from 'd3-hierarchy';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Buffer } from '../../generated/report';
import { KIND, ROLE, type Swatch } from '../lib/palette';
import { bareShape, bufferKey, modulePath } from '../lib/stack';
import { plain } from '../lib/text';
import { size } from '../lib/units';

interface Node {
  readonly name: string;
  readonly swatch: Swatch | null;
  readonly buffer: Buffer | null;
  readonly bytes: number;
  readonly children: Node[];
}

/** Cells; smaller ones are counted together. */
const MOST_CELLS = 300;

export const swatchOf = (b: Buffer): Swatch => (b.kind === 'temp' ? ROLE[b.role] : KIND[b.kind]);

function tree(buffers: readonly Buffer[]): Node {
  const root: Node = { name: '', swatch: null, buffer: null, bytes: 0, children: [] };
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
    at.children.push({ name: '', swatch, buffer: b, bytes, children: [] });
  }
  for (const [group, r] of rest)
    group.children.push({
      name: `${r.count} smaller`,
      swatch: group.swatch,
      buffer: null,
      bytes: r.bytes,
      children: [],
    });
  return root;
}

function child(of: Node, name: string, swatch: Swatch): Node {
  let found = of.children.find((c) => c.name === name && c.buffer === null);
  if (found === undefined) {
    found = { name, swatch, buffer: null, bytes: 0, children: [] };
    of.children.push(found);
  }
  return found;
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
    const root = hierarchy(tree(buffers), (n) => n.children)
      .sum((n) => n.bytes)
      .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
    return treemap<Node>()
      .size([width, height])
      .paddingInner(1)
      .paddingTop((n) =>
        n.depth === 1 && n.x1 - n.x0 > 30 && n.y1 - n.y0 > 30
          ? 17
          : n.depth === 2 && n.children !== undefined && n.x1 - n.x0 > 70 && n.y1 - n.y0 > 40
            ? 15
            : 0,
      )
      .round(true)(root)
      .descendants();
  }, [buffers, width, height]);

  const leaves = nodes.filter((n) => n.children === undefined && n.x1 > n.x0 && n.y1 > n.y0);
  // In the order of the eye, and of the keys: the largest first.
  const cells = leaves.filter((n) => n.data.buffer !== null).sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const keyOf = (n: HierarchyRectangularNode<Node>) => (n.data.buffer === null ? '' : bufferKey(n.data.buffer));
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

  const place = (n: HierarchyRectangularNode<Node>) => ({
    left: `${n.x0}px`,
    top: `${n.y0}px`,
    width: `${n.x1 - n.x0}px`,
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
                {plain(n.data.name, 40)} {n.depth === 1 && <span>{size(n.value ?? 0)}</span>}
              </b>
            )}
          </span>
        ))}
      {leaves.map((n) => {
        const b = n.data.buffer;
        const fill = `cell fill-${n.data.swatch?.key}${n.data.swatch?.striped ? ' striped' : ''}`;
        if (b === null)
          return (
            <span
              class={`${fill} rest`}
              style={place(n)}
              data-tip={`${n.data.name}, ${size(n.value ?? 0)}`}
              aria-hidden="true"
            />
          );
        const key = bufferKey(b);
        const words = `${bareShape(b.shape)}${b.count > 1 ? ` ×${b.count}` : ''}`;
        const whole = `${plain(words, 60)} ${size(b.bytes * b.count)}, ${n.data.swatch?.label}${b.op_name === null ? '' : `, ${plain(b.op_name, 160)}`}`;
        const wide = n.x1 - n.x0 > 64 && n.y1 - n.y0 > 16;
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
            {wide && (
              <>
                <span>{plain(words, 60)}</span> {n.y1 - n.y0 > 32 && <span>{size(b.bytes * b.count)}</span>}
              </>
            )}
          </div>
        );
      })}
    </div>
  );
}
