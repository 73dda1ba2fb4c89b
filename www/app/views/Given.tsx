/** A field for the size of the pool or of the card, for a plan that comes without either. */

import { useState } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Report } from '../../generated/report';
import { useModel } from '../ui/context';

const GIB = 2 ** 30;

/** Whether there is a plan, and nothing says how large the pool is that it runs in. */
export function lacksPool(report: Report): boolean {
  const measured = report.allocators.some((a) => a.kind === 'device' && a.capacity_bytes !== null);
  return report.plan !== null && !measured;
}

export function HoldAgainst({ report, capture }: { report: Report; capture: Capture }) {
  const model = useModel();
  const { given } = capture;
  const cardIsKnown = report.platform.devices.some((d) => d.memory_bytes !== null && d.memory_bytes > 0);
  const [what, setWhat] = useState<'pool' | 'card'>(given.card === undefined ? 'pool' : 'card');
  const [size, setSize] = useState(`${(given.pool ?? given.card ?? 0) / GIB || ''}`);
  const bytes = Math.round(Number(size) * GIB);
  const submit = (event: Event) => {
    event.preventDefault();
    if (bytes > 0) model.give(capture, { [what]: bytes });
  };
  return (
    <form class="hold-against" onSubmit={submit}>
      <label>
        Hold it against a{' '}
        {cardIsKnown ? (
          'pool'
        ) : (
          <select
            value={what}
            aria-label="Pool or card"
            onChange={(e) => setWhat(e.currentTarget.value as 'pool' | 'card')}
          >
            <option value="pool">pool</option>
            <option value="card">card</option>
          </select>
        )}{' '}
        of{' '}
        <input
          type="number"
          min="0"
          step="any"
          required
          value={size}
          aria-label="Size in GiB"
          onInput={(e) => setSize(e.currentTarget.value)}
        />{' '}
        GiB
      </label>{' '}
      <button class="button" type="submit">
        Hold
      </button>
      {(given.pool ?? given.card) !== undefined && (
        <button
          class="button quiet"
          type="button"
          onClick={() => {
            setSize('');
            model.give(capture, {});
          }}
        >
          Take away
        </button>
      )}
    </form>
  );
}
