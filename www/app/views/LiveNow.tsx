/** What is live in an allocator at a moment of the run. */

import { useMemo } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Allocator, LiveArray } from '../../generated/report';
import { plain } from '../lib/text';
import { count, duration } from '../lib/units';
import { Size, Tag, Unknown } from '../ui/basic';
import { useAnswer } from '../ui/context';
import { type Column, DataTable, names, sizes } from '../ui/table';

interface Origin {
  readonly origin: string;
  readonly bytes: number;
  readonly arrays: readonly LiveArray[];
}

const originColumns: readonly Column<Origin>[] = [
  sizes('bytes', 'Bytes', (o) => o.bytes),
  {
    id: 'count',
    head: 'Arrays',
    numeric: true,
    sort: (o) => o.arrays.length,
    cell: (o) => (o.arrays.every((x) => x.address === null) ? <Unknown /> : count(o.arrays.length)),
  },
  names('origin', 'Whose', (o) => o.origin, 90),
];

/** What is live at the chosen moment, by origin. */
export function LiveNow({ capture, allocator: a, at }: { capture: Capture; allocator: Allocator; at: number }) {
  const live = useAnswer(() => capture.liveAt(a.name, at), [capture, a.name, at]);
  const rows = useMemo(() => {
    const by = new Map<string, LiveArray[]>();
    for (const array of live.value?.arrays ?? []) {
      // The outputs of one execution are one row; it opens to each of them.
      const origin = array.origin.replace(/^output .* of (?=\S+ execution \d+$)/s, 'outputs of ');
      const list = by.get(origin);
      if (list === undefined) by.set(origin, [array]);
      else list.push(array);
    }
    const out: Origin[] = [...by].map(([origin, arrays]) => ({
      origin,
      arrays,
      bytes: arrays.reduce((n, x) => n + x.allocated_bytes, 0),
    }));
    // What no event of the capture names was there before it.
    const rest = (live.value?.in_use_bytes ?? 0) - out.reduce((n, o) => n + o.bytes, 0);
    if (rest > 0) out.push({ origin: 'allocated before the capture started', bytes: rest, arrays: [] });
    // Of equal bytes the earlier execution first.
    return out.sort((x, y) => x.origin.localeCompare(y.origin, 'en', { numeric: true }));
  }, [live.value]);
  return (
    <div>
      <div class="view-head">
        <h2>
          Live at {duration(at)} <Tag evidence="measured" />
        </h2>
        {live.value !== null && (
          <p>
            <Size bytes={live.value.in_use_bytes} /> in use
          </p>
        )}
        {live.waiting && <p class="soft">looking …</p>}
      </div>
      {live.error !== null && <p class="note trouble">{plain(live.error, 300)}</p>}
      <DataTable
        caption={`Arrays live at ${duration(at)}, by origin`}
        columns={originColumns}
        rows={rows}
        rowKey={(o) => o.origin}
        sortBy="bytes"
        page={15}
        open={(o) => <Arrays of={o.arrays} />}
        none={live.waiting ? 'looking …' : 'Nothing is live there.'}
      />
    </div>
  );
}

const arrayColumns: readonly Column<LiveArray>[] = [
  sizes('allocated', 'Chunk', (x) => x.allocated_bytes),
  sizes('bytes', 'Asked for', (x) => x.bytes),
  names('origin', 'Whose', (x) => x.origin, 90),
  names('address', 'Address', (x) => x.address, 24),
];

function Arrays({ of }: { of: readonly LiveArray[] }) {
  if (of.every((x) => x.address === null))
    return (
      <p class="soft">
        A capture holds no event of what was allocated before it started: start it before the first step, or bring a
        memory.prof of the same process.
      </p>
    );
  return (
    <DataTable
      caption="Arrays of this origin"
      columns={arrayColumns}
      rows={of}
      rowKey={(x) => `${x.address} ${x.origin} ${x.allocated_bytes}`}
      sortBy="allocated"
      page={20}
    />
  );
}
