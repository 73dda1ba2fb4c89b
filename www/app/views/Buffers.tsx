/** The buffers of a moment as a table: to sort, to filter, to open. */

import { useMemo, useState } from 'preact/hooks';
import type { Buffer, BufferKind, Role } from '../../generated/report';
import { KIND, KINDS, ROLE, ROLES } from '../lib/palette';
import { bareShape, bufferKey, modulePath } from '../lib/stack';
import { plain, shortPath } from '../lib/text';
import { count, plural, size } from '../lib/units';
import { Chip, Keyed, Name, Size, Source, Tag } from '../ui/basic';
import { Choice } from '../ui/choice';
import { type Column, DataTable, sizes } from '../ui/table';
import { swatchOf } from './Treemap';

export interface Filter {
  readonly text: string;
  readonly roles: ReadonlySet<Role>;
  readonly kind: BufferKind | '';
  readonly file: string;
}

export const NO_FILTER: Filter = { text: '', roles: new Set(), kind: '', file: '' };

export function passes(b: Buffer, f: Filter): boolean {
  if (f.kind !== '' && b.kind !== f.kind) return false;
  if (f.roles.size > 0 && !(b.kind === 'temp' && f.roles.has(b.role))) return false;
  if (f.file !== '' && b.source?.file !== f.file) return false;
  if (f.text === '') return true;
  const wanted = f.text.toLowerCase();
  return [b.shape, b.op_name, b.instruction, b.opcode, b.source?.file, b.source?.function].some((t) =>
    t?.toLowerCase().includes(wanted),
  );
}

/** Where a buffer comes from, as a reader knows it. */
function path(b: Buffer): string {
  const parts = modulePath(b.op_name);
  return parts.length > 0 ? parts.join('/') : b.instruction;
}

const columnsOf = (backwardFrom: number): readonly Column<Buffer>[] => [
  sizes('total', 'Together', (b) => b.bytes * b.count),
  {
    id: 'count',
    head: 'Equal',
    numeric: true,
    sort: (b) => b.count,
    cell: (b) => `×${count(b.count)}`,
    help: 'Buffers of the same shape, role, kind, name stack without layer numbers, and source line.',
  },
  { id: 'shape', head: 'Shape', sort: (b) => b.shape, cell: (b) => <Shape text={b.shape} /> },
  {
    id: 'role',
    head: 'Role',
    sort: (b) => (b.kind === 'temp' ? b.role : b.kind),
    cell: (b) => (
      <Keyed of={swatchOf(b)}>
        {b.kind === 'temp' ? ROLE[b.role].label : KIND[b.kind].label}
        {b.kind === 'temp' &&
          b.role === 'forward' &&
          (b.last_event ?? backwardFrom) < backwardFrom &&
          ', not\u00a0kept'}
      </Keyed>
    ),
  },
  { id: 'name', head: 'Name', sort: path, cell: (b) => <Name text={path(b)} most={64} /> },
  {
    id: 'source',
    head: 'Source',
    minor: true,
    sort: (b) => (b.source === null ? null : `${b.source.file}:${String(b.source.line ?? 0).padStart(7, '0')}`),
    cell: (b) => <Source at={b.source} />,
  },
  {
    id: 'life',
    head: 'Life',
    minor: true,
    numeric: true,
    help: 'First and last event of the schedule at which it is live.',
    sort: (b) => (b.first_event === null || b.last_event === null ? null : b.last_event - b.first_event),
    cell: (b) =>
      b.first_event === null ? (
        <span class="soft">throughout</span>
      ) : (
        `${count(b.first_event)}–${count(b.last_event ?? b.first_event)}`
      ),
  },
];

/** A shape stays on its line. */
export function Shape({ text }: { text: string }) {
  return (
    <span class="shape">
      <Name text={bareShape(text)} most={48} />
    </span>
  );
}

function Details({ of: b }: { of: Buffer }) {
  return (
    <div class="two-columns">
      <dl class="facts">
        <dt>Shape and layout</dt>
        <dd>
          <Name text={b.shape} most={120} full />
        </dd>
        <dt>Size</dt>
        <dd>
          {size(b.bytes)} ({count(b.bytes)} bytes)
          {b.count > 1 && (
            <>
              , {plural(b.count, 'equal buffer')} of {count(b.bytes * b.count)} bytes together
            </>
          )}
        </dd>
        <dt>Instruction</dt>
        <dd>
          <Name text={b.instruction} most={120} full /> <span class="soft">{plain(b.opcode, 60)}</span>
        </dd>
        <dt>Role</dt>
        <dd>
          {ROLE[b.role].label} <Tag evidence={b.role_evidence} />
        </dd>
        <dt>Name stack</dt>
        <dd>
          {b.op_name === null ? <span class="soft">none: made by XLA</span> : <Name text={b.op_name} most={300} full />}
        </dd>
        <dt>Place</dt>
        <dd>
          allocation {b.allocation}, from byte {count(b.offset_bytes)} on
        </dd>
        <dt>Life</dt>
        <dd>
          {b.first_event === null
            ? 'live throughout the program'
            : `from event ${count(b.first_event)} to ${count(b.last_event ?? b.first_event)} of the schedule`}
        </dd>
      </dl>
      <div>
        <p class="soft">Python stack, innermost first</p>
        {b.frames.length === 0 && b.source === null && <p>not in the plan</p>}
        <ol class="frames">
          {(b.frames.length > 0 ? b.frames : b.source === null ? [] : [b.source]).map((f, i) => (
            <li key={i}>
              <Source at={f} long />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

interface Props {
  readonly buffers: readonly Buffer[];
  /** The first event at which something of the backward pass can be live. */
  readonly backwardFrom: number;
  readonly filter: Filter;
  readonly onFilter: (f: Filter) => void;
  readonly selected: string | null;
  readonly onSelect: (key: string | null) => void;
  readonly caption: string;
}

export function BufferTable({ buffers, backwardFrom, filter, onFilter, selected, onSelect, caption }: Props) {
  const columns = useMemo(() => columnsOf(backwardFrom), [backwardFrom]);
  const shown = useMemo(() => buffers.filter((b) => passes(b, filter)), [buffers, filter]);
  const bytes = shown.reduce((n, b) => n + b.bytes * b.count, 0);
  return (
    <>
      <Filters buffers={buffers} filter={filter} onFilter={onFilter} />
      <p class="soft table-sum" role="status">
        {plural(
          shown.reduce((n, b) => n + b.count, 0),
          'buffer',
        )}{' '}
        in {plural(shown.length, 'row')}, <Size bytes={bytes} /> together
        {shown.length < buffers.length && (
          <>
            {' '}
            of <Size bytes={buffers.reduce((n, b) => n + b.bytes * b.count, 0)} />
          </>
        )}
      </p>
      <DataTable
        caption={caption}
        columns={columns}
        rows={shown}
        rowKey={bufferKey}
        sortBy="total"
        open={(b) => <Details of={b} />}
        selected={selected}
        onSelect={onSelect}
        none="No buffer passes these filters."
      />
    </>
  );
}

function Filters({ buffers, filter, onFilter }: Pick<Props, 'buffers' | 'filter' | 'onFilter'>) {
  const [id] = useState(() => `filter-${Math.round(performance.now())}`);
  const files = useMemo(() => {
    const bytes = new Map<string, number>();
    for (const b of buffers)
      if (b.source !== null) bytes.set(b.source.file, (bytes.get(b.source.file) ?? 0) + b.bytes * b.count);
    return [...bytes].sort((a, b) => b[1] - a[1]).slice(0, 60);
  }, [buffers]);
  const roles = ROLES.filter((r) => buffers.some((b) => b.kind === 'temp' && b.role === r));
  const kinds = KINDS.filter((k) => buffers.some((b) => b.kind === k));
  return (
    <search class="filters" aria-label="Filter the buffers">
      <label class="offscreen" for={id}>
        Shape, name or file
      </label>
      <input
        id={id}
        type="search"
        placeholder="Shape, name or file"
        value={filter.text}
        onInput={(e) => onFilter({ ...filter, text: e.currentTarget.value })}
      />
      <fieldset class="role-filter">
        <legend class="offscreen">Roles</legend>
        {roles.map((role) => (
          <label key={role} class="toggle" data-tip={ROLE[role].help}>
            <input
              type="checkbox"
              checked={filter.roles.has(role)}
              onChange={() => {
                const next = new Set(filter.roles);
                if (!next.delete(role)) next.add(role);
                onFilter({ ...filter, roles: next });
              }}
            />
            <Chip of={ROLE[role]} />
            {ROLE[role].label}
          </label>
        ))}
      </fieldset>
      <Choice
        label="Kind"
        quiet
        options={['every kind', ...kinds.map((k) => KIND[k].label)]}
        at={kinds.indexOf(filter.kind as BufferKind) + 1}
        onChoose={(i) => onFilter({ ...filter, kind: kinds[i - 1] ?? '' })}
      />
      <Choice
        label="File"
        quiet
        options={['every file', ...files.map(([file, bytes]) => `${plain(shortPath(file), 50)} · ${size(bytes)}`)]}
        at={files.findIndex(([file]) => file === filter.file) + 1}
        onChoose={(i) => onFilter({ ...filter, file: files[i - 1]?.[0] ?? '' })}
      />
      {filter !== NO_FILTER && (
        <button type="button" class="quiet" onClick={() => onFilter(NO_FILTER)}>
          Clear
        </button>
      )}
    </search>
  );
}
