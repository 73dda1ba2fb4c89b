/** A table that sorts, opens its rows and follows a selection made elsewhere. */

import type { ComponentChildren } from 'preact';
import { Fragment } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Evidence } from '../../generated/report';
import { count, duration, plural } from '../lib/units';
import { Name, Size, Tag, Unknown } from './basic';
import { Scroll } from './scroll';

export interface Column<T> {
  readonly id: string;
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What to sort by; a column without it does not sort. */
  readonly sort?: (row: T) => number | string | null;
  readonly numeric?: boolean;
  /** Left out where the page is narrow. */
  readonly minor?: boolean;
  readonly help?: string;
  /** How all of its values are known. */
  readonly evidence?: Evidence;
}

type More = Pick<Column<unknown>, 'minor' | 'help' | 'evidence'>;

const numeric =
  (show: (value: number) => ComponentChildren) =>
  <T,>(id: string, head: string, of: (row: T) => number | null, more: More = {}): Column<T> => ({
    id,
    head,
    numeric: true,
    sort: of,
    cell: (row) => {
      const value = of(row);
      return value === null ? <Unknown /> : show(value);
    },
    ...more,
  });

/** Columns of numbers, which stay unknown where the report has none. */
export const sizes = numeric((bytes) => <Size bytes={bytes} />);
export const counts = numeric(count);
export const durations = numeric(duration);

/** A column of names from the capture, cut at `most` characters. */
export const names = <T,>(
  id: string,
  head: string,
  of: (row: T) => string | null,
  most: number,
  more: More = {},
): Column<T> => ({
  id,
  head,
  sort: of,
  cell: (row) => {
    const value = of(row);
    return value === null ? <Unknown /> : <Name text={value} most={most} />;
  },
  ...more,
});

interface Props<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly sortBy?: string;
  readonly ascending?: boolean;
  /** What a row opens to. */
  readonly open?: (row: T) => ComponentChildren;
  readonly selected?: string | null;
  readonly onSelect?: (key: string | null) => void;
  /** A row to bring into view: the evidence somebody came for. */
  readonly target?: string | null;
  readonly none?: string;
  /** Rows shown at first. */
  readonly page?: number;
}

/** Rows that a click adds: as many as a browser lays out without a pause that is felt. */
const MORE = 100;

function compare(a: number | string | null, b: number | string | null, up: boolean): number {
  // Unknown values go last, whichever way is up.
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const order =
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  return up ? order : -order;
}

const classes = (...names: (string | false | undefined)[]): string | undefined =>
  names.filter(Boolean).join(' ') || undefined;

export function DataTable<T>(props: Props<T>) {
  const { columns, rows, rowKey, open, selected = null, onSelect, target = null, page = 50 } = props;
  const [sort, setSort] = useState({ by: props.sortBy ?? null, up: props.ascending ?? false });
  const [shown, setShown] = useState(page);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const body = useRef<HTMLTableSectionElement>(null);

  const sorted = useMemo(() => {
    const by = columns.find((c) => c.id === sort.by)?.sort;
    if (by === undefined) return rows;
    const keyed = rows.map((row) => ({ row, value: by(row) }));
    keyed.sort((a, b) => compare(a.value, b.value, sort.up));
    return keyed.map((k) => k.row);
  }, [rows, sort, columns]);

  const wanted = target ?? selected;
  const position = useMemo(
    () => (wanted === null ? -1 : sorted.findIndex((r) => rowKey(r) === wanted)),
    [sorted, wanted],
  );
  const visible = Math.max(shown, position >= shown ? position + 20 : 0);

  useEffect(() => {
    if (wanted === null || position < 0) return;
    const row = body.current?.querySelector<HTMLElement>('[data-wanted]');
    if (target === null) row?.scrollIntoView({ block: 'nearest' });
    else {
      row?.scrollIntoView({ block: 'center' });
      row?.focus({ preventScroll: true });
    }
  }, [wanted]);

  const toggle = (key: string) => {
    const next = new Set(opened);
    if (!next.delete(key)) next.add(key);
    setOpened(next);
  };

  if (rows.length === 0) return <p class="none">{props.none ?? 'Nothing here.'}</p>;
  return (
    <div class="table">
      <Scroll label={props.caption}>
        <table>
          <caption class="offscreen">{props.caption}</caption>
          <thead>
            <tr>
              {columns.map((c) => {
                const mine = sort.by === c.id;
                return (
                  <th
                    scope="col"
                    class={classes(c.numeric && 'number', c.minor && 'minor')}
                    aria-sort={mine ? (sort.up ? 'ascending' : 'descending') : undefined}
                  >
                    {c.sort === undefined ? (
                      <span data-tip={c.help}>{c.head}</span>
                    ) : (
                      <button
                        type="button"
                        class="sort"
                        data-tip={c.help}
                        onClick={() => setSort({ by: c.id, up: mine ? !sort.up : !c.numeric })}
                      >
                        {c.head}
                        <span class="arrow" aria-hidden="true">
                          {mine ? (sort.up ? '▲' : '▼') : ''}
                        </span>
                      </button>
                    )}
                    {c.evidence !== undefined && <Tag evidence={c.evidence} />}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody ref={body}>
            {sorted.slice(0, visible).map((row) => {
              const key = rowKey(row);
              const isOpen = opened.has(key);
              return (
                <Fragment key={key}>
                  <tr
                    class={classes(
                      key === selected && 'selected',
                      key === target && 'target',
                      onSelect !== undefined && 'live',
                    )}
                    data-wanted={key === wanted ? '' : undefined}
                    tabIndex={key === target ? -1 : undefined}
                    onClick={(event) => {
                      // Not while text is being selected, nor for what has its own purpose.
                      if (
                        (event.target as Element).closest('button, a, .whole') === null &&
                        getSelection()?.isCollapsed !== false
                      )
                        onSelect?.(key === selected ? null : key);
                    }}
                  >
                    {columns.map((c, i) =>
                      i > 0 ? (
                        <td class={classes(c.numeric && 'number', c.minor && 'minor')}>{c.cell(row)}</td>
                      ) : (
                        <th
                          scope="row"
                          class={classes(c.numeric && 'number', c.minor && 'minor', open !== undefined && 'opens')}
                        >
                          {open !== undefined && (
                            <button
                              type="button"
                              class="opener"
                              aria-expanded={isOpen}
                              aria-label="Details"
                              onClick={() => {
                                toggle(key);
                                if (!isOpen) onSelect?.(key);
                              }}
                            >
                              <span aria-hidden="true">{isOpen ? '−' : '+'}</span>
                            </button>
                          )}
                          {c.cell(row)}
                        </th>
                      ),
                    )}
                  </tr>
                  {isOpen && (
                    <tr class="details">
                      <td colSpan={columns.length}>{open?.(row)}</td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {sorted.length > visible && (
        <p class="more-rows">
          {count(visible)} of {plural(sorted.length, 'row')}.{' '}
          <button type="button" class="quiet" onClick={() => setShown(visible + MORE)}>
            Show {count(Math.min(MORE, sorted.length - visible))} more
          </button>
        </p>
      )}
    </div>
  );
}
