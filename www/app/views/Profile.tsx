/** A device memory profile: what every Python stack holds, as a flame graph and as a table. */

import { useMemo, useRef, useState } from 'preact/hooks';
import type {
  BeforeMatch,
  MemoryProfileReport,
  ProfileFrame,
  ProfileStack,
  ProfileTotal,
  Report,
  RestMatch,
  SourceLine,
  StackChange,
} from '../../generated/report';
import { cut, plain, shortPath } from '../lib/text';
import { count, percent, plural, size } from '../lib/units';
import { Difference, Name, Size, Source, Tag } from '../ui/basic';
import { type Column, counts, DataTable, names, sizes } from '../ui/table';
import { BesideNote } from './Beside';

export function ProfileView({ report }: { report: Report }) {
  const profile = report.memory_profile;
  if (profile === null) return <p class="none">There is no memory profile.</p>;
  const beside = report.source.kind !== 'memory_profile';
  const other = report.warnings.find((w) => w.code === 'memory-profile-platform');
  return (
    <section aria-labelledby="profile-title" class="stack">
      <div class="view-head">
        <h1 class="title" id="profile-title">
          What Python stacks hold
        </h1>
        <p>
          <Tag evidence="measured" />
        </p>
      </div>
      <BesideNote kind="profile" />
      {other !== undefined && <p class="note">{plain(other.message)}</p>}
      {beside && other === undefined && <Before of={profile.before_capture} rest={profile.before_capture_rest} />}
      <Flame profile={profile} />
      <Totals of={profile.totals} />
      <Stacks profile={profile} />
    </section>
  );
}

/** Pixels of a row. */
const ROW = 20;
/** Narrower frames are not drawn; the table has them. */
const NARROWEST = 0.002;
const DEEPEST = 60;

interface Box {
  readonly node: number;
  readonly level: number;
  readonly from: number;
  readonly width: number;
  readonly parent: Box | null;
}

/** The boxes of a tree below one node, which takes the whole width; its callers above it do so too. */
function boxesOf(profile: MemoryProfileReport, zoomed: number): Box[] {
  const { nodes } = profile.tree;
  const parents = new Map<number, number>();
  for (const [i, node] of nodes.entries()) for (const c of node.children) parents.set(c, i);
  const path: number[] = [];
  for (let at: number | undefined = zoomed; at !== undefined; at = parents.get(at)) path.unshift(at);
  const out: Box[] = [];
  let above: Box | null = null;
  for (const [level, node] of path.entries()) {
    above = { node, level, from: 0, width: 1, parent: above };
    out.push(above);
  }
  const whole = nodes[zoomed]?.bytes ?? 0;
  const todo = above === null || whole === 0 ? [] : [above];
  for (let box = todo.shift(); box !== undefined; box = todo.shift()) {
    let from = box.from;
    for (const child of nodes[box.node]?.children ?? []) {
      const width = (nodes[child]?.bytes ?? 0) / whole;
      if (width >= NARROWEST && box.level < DEEPEST) {
        const next = { node: child, level: box.level + 1, from, width, parent: box };
        out.push(next);
        todo.push(next);
      }
      from += width;
    }
  }
  return out;
}

const frameName = (f: ProfileFrame | undefined): string =>
  f === undefined
    ? 'all arrays'
    : `${f.at.function ?? '?'} ${shortPath(f.at.file)}${f.at.line === null ? '' : `:${f.at.line}`}`;

function Flame({ profile }: { profile: MemoryProfileReport }) {
  const { nodes } = profile.tree;
  const [zoomed, setZoomed] = useState(0);
  const [active, setActive] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const boxes = useMemo(() => boxesOf(profile, zoomed), [profile, zoomed]);
  const whole = nodes[0];
  if (whole === undefined || whole.bytes === 0) return <p class="none">No arrays are in this profile.</p>;
  const depth = boxes.reduce((n, b) => Math.max(n, b.level), 0) + 1;
  const here = boxes.find((b) => b.node === active) ?? boxes[0];
  const chosen = nodes[here?.node ?? 0];
  const frameOf = (node: number) => profile.frames[nodes[node]?.frame ?? -1];

  const move = (to: Box | undefined) => {
    if (to === undefined) return;
    setActive(to.node);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
  };
  const onKeyDown = (e: KeyboardEvent) => {
    if (here === undefined) return;
    const row = boxes.filter((b) => b.level === here.level).sort((a, b) => a.from - b.from);
    const at = row.indexOf(here);
    const act: Record<string, () => void> = {
      ArrowLeft: () => move(row[at - 1]),
      ArrowRight: () => move(row[at + 1]),
      ArrowUp: () => move(here.parent ?? undefined),
      ArrowDown: () => move(boxes.find((b) => b.parent === here)),
      Home: () => move(boxes[0]),
      Enter: () => setZoomed(here.node),
      ' ': () => setZoomed(here.node),
      Escape: () => setZoomed(0),
    };
    const action = act[e.key];
    if (action === undefined) return;
    e.preventDefault();
    action();
  };
  return (
    <div>
      <div class="view-head">
        <p class="reading-total">
          <Size bytes={chosen?.bytes ?? 0} />{' '}
          <span class="soft">
            {percent((chosen?.bytes ?? 0) / whole.bytes)} in {plural(chosen?.count ?? 0, 'array')}
            {here?.parent && `, below ${plain(frameName(frameOf(here.node)), 120)}`}
          </span>
        </p>
        {zoomed !== 0 && (
          <button type="button" class="quiet" onClick={() => setZoomed(0)}>
            Show all
          </button>
        )}
      </div>
      <div
        ref={box}
        class="flame"
        role="tree"
        aria-label="Arrays by Python frame, from the outermost inwards"
        style={{ height: `${depth * ROW}px` }}
        onKeyDown={onKeyDown}
      >
        {boxes.map((b) => {
          const node = nodes[b.node];
          const frame = frameOf(b.node);
          const name = plain(cut(frameName(frame), 160));
          const words = `${name} ${size(node?.bytes ?? 0)}, ${percent((node?.bytes ?? 0) / whole.bytes)}`;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of all its frames
            <div
              key={b.node}
              role="treeitem"
              class={frame?.inside_jax ? 'frame jax' : 'frame'}
              aria-level={b.level + 1}
              aria-selected={b === here}
              aria-label={words}
              data-tip={words}
              tabIndex={b === here ? 0 : -1}
              style={{
                left: `${b.from * 100}%`,
                width: `calc(${b.width * 100}% - 1px)`,
                top: `${b.level * ROW}px`,
              }}
              onClick={() => {
                setActive(b.node);
                setZoomed(b.node === zoomed ? 0 : b.node);
              }}
            >
              {b.width > 0.03 ? name : ''}
            </div>
          );
        })}
      </div>
      <p class="soft">Wider holds more. Frames of JAX itself are pale. A click, or Enter, enlarges a frame.</p>
    </div>
  );
}

const totalColumns: readonly Column<ProfileTotal>[] = [
  names('device', 'Device', (t) => t.device, 90),
  names('kind', 'Kind', (t) => t.kind, 40),
  counts('count', 'How many', (t) => t.count),
  sizes('bytes', 'Bytes', (t) => t.bytes),
];

function Totals({ of }: { of: readonly ProfileTotal[] }) {
  return (
    <div>
      <h2>By device and kind</h2>
      <DataTable
        caption="Arrays and executables by device"
        columns={totalColumns}
        rows={of}
        rowKey={(t) => `${t.device} ${t.kind}`}
        sortBy="bytes"
        page={20}
      />
    </div>
  );
}

function Frames({ of }: { of: readonly SourceLine[] }) {
  return (
    <ol class="frames">
      {of.map((at, i) => (
        <li key={i}>
          <Source at={at} long />
        </li>
      ))}
    </ol>
  );
}

function Stacks({ profile }: { profile: MemoryProfileReport }) {
  const frameOf = (i: number | undefined): SourceLine | null => profile.frames[i ?? -1]?.at ?? null;
  const place = (s: ProfileStack) => frameOf(s.frames[s.user_frame ?? 0]);
  const columns = useMemo(
    (): Column<ProfileStack>[] => [
      sizes('bytes', 'Bytes', (s) => s.bytes),
      counts('count', 'How many', (s) => s.count),
      { id: 'place', head: 'Made at', sort: (s) => place(s)?.file ?? null, cell: (s) => <Source at={place(s)} /> },
      names('kind', 'Kind', (s) => s.kind, 40, { minor: true }),
      names('device', 'Device', (s) => s.device, 90, { minor: true }),
    ],
    [profile],
  );
  const key = (s: ProfileStack) => `${s.device} ${s.kind} ${s.frames.join('.')}`;
  return (
    <div>
      <h2>Stacks</h2>
      <DataTable
        caption="Arrays and executables by Python stack"
        columns={columns}
        rows={profile.stacks}
        rowKey={key}
        sortBy="bytes"
        page={40}
        open={(s) => (
          <div class="two-columns">
            <div>
              <p class="soft">Innermost first</p>
              <Frames of={s.frames.flatMap((i) => frameOf(i) ?? [])} />
            </div>
            <div>
              <p class="soft">By size</p>
              <ul>
                {s.sizes.slice(0, 60).map((x) => (
                  <li key={x.bytes}>
                    <Size bytes={x.bytes} /> ×{count(x.count)}
                  </li>
                ))}
              </ul>
            </div>
          </div>
        )}
      />
      {profile.omitted.omitted > 0 && (
        <p class="soft">
          and {count(profile.omitted.omitted)} more, <Size bytes={profile.omitted.omitted_bytes} />
        </p>
      )}
    </div>
  );
}

const changeColumns: readonly Column<StackChange>[] = [
  {
    id: 'growth',
    head: 'Growth',
    numeric: true,
    sort: (c) => c.bytes_after - c.bytes_before,
    cell: (c) => <Difference bytes={c.bytes_after - c.bytes_before} />,
  },
  sizes('before', 'Before', (c) => c.bytes_before),
  sizes('after', 'After', (c) => c.bytes_after),
  { id: 'place', head: 'Made at', cell: (c) => <Source at={c.frames[c.user_frame ?? 0] ?? null} /> },
];

export function Changes({ of }: { of: readonly StackChange[] }) {
  return (
    <div>
      <h2>Since the earlier profile</h2>
      <DataTable
        caption="Growth by Python stack since the earlier profile"
        columns={changeColumns}
        rows={of}
        rowKey={(c) => `${c.device} ${c.kind} ${c.frames.map((f) => `${f.file}:${f.line}`).join(' ')}`}
        sortBy="growth"
        page={40}
        open={(c) => <Frames of={c.frames} />}
      />
    </div>
  );
}

const beforeColumns: readonly Column<BeforeMatch>[] = [
  sizes('bytes', 'Together', (b) => b.chunk_bytes * b.count),
  sizes('each', 'Each', (b) => b.chunk_bytes),
  counts('count', 'In the capture', (b) => b.count),
  counts('profile', 'In the profile', (b) => b.profile_count),
  {
    id: 'place',
    head: 'Made at',
    cell: (b) =>
      (b.places as [SourceLine, number][]).slice(0, 4).map(([at, n]) => (
        <div key={`${at.file} ${at.line}`}>
          <Source at={at} /> ×{count(n)}
        </div>
      )),
  },
];

function Before({ of, rest }: { of: readonly BeforeMatch[]; rest: readonly RestMatch[] }) {
  return (
    <div>
      <h2>
        Names for what was allocated before the capture <Tag evidence="inferred" />
      </h2>
      <DataTable
        caption="Arrays from before the capture with the stacks of their size"
        columns={beforeColumns}
        rows={of}
        rowKey={(b) => String(b.chunk_bytes)}
        sortBy="bytes"
        page={30}
        none="No array from before the capture has the size of one in the profile: of another moment, or another process."
      />
      {rest.map((r) => (
        <div key={r.allocator} class="rest">
          <p>
            <Size bytes={r.bytes} /> of <Name text={r.allocator} most={50} /> were there before the capture and never
            freed in it.{' '}
            {r.exact ? 'The arrays of the profile made at these places are they, to the byte:' : 'The profile has'}{' '}
            {!r.exact && (
              <>
                {plural(r.profile_count, 'array')} of <Size bytes={r.profile_bytes} /> that can be among them:
              </>
            )}
          </p>
          <ul class="plain-list">
            {(r.places as [SourceLine, number, number][]).slice(0, 20).map(([at, n, bytes]) => (
              <li key={`${at.file} ${at.line}`}>
                <Source at={at} /> ×{count(n)} <Size bytes={bytes} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}
