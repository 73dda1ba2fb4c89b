/** Two reports, before and after: every number with its difference, findings gone and new, buffers at the peak. */

import { useMemo } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Report } from '../../generated/report';
import { isProfile } from '../lib/beside';
import {
  type BufferChange,
  bufferChanges,
  findingChanges,
  NEED,
  numbers,
  OTHER,
  type Pair,
  sides,
} from '../lib/compare';
import { labels } from '../lib/files';
import { KIND, ROLE } from '../lib/palette';
import { poolOf } from '../lib/pool';
import { plain } from '../lib/text';
import { count, plural, signedCount, size } from '../lib/units';
import { Difference, Keyed, Prose, SeverityMark, Size, Tag, Unknown } from '../ui/basic';
import { Choice } from '../ui/choice';
import { useAnswer, useModel } from '../ui/context';
import { Scroll } from '../ui/scroll';
import { type Column, DataTable, names } from '../ui/table';
import { Shape } from './Buffers';
import { GaugeAxis, GaugeLines, gaugeOf, Lens, PoolBar } from './Gauge';
import { Changes } from './Profile';
import { swatchOf } from './Treemap';

export function CompareView({ report: after }: { report: Report }) {
  const model = useModel();
  const { captures, settings } = model;
  const { comparable } = model;
  const { before: beforeAt = -1, after: position = -1 } = sides(settings, comparable) ?? {};
  const [first, second] = [captures[beforeAt]?.capture, captures[position]?.capture];
  if (!first || !second) return <p class="none">A comparison takes two captures: add another one.</p>;
  const names = labels(captures, 60);
  const options = comparable.map((i) => names[i] ?? '');
  const at = (n: number) => comparable[n] ?? 0;
  return (
    <section aria-labelledby="compare-title" class="stack">
      <div class="view-head">
        <h1 class="title" id="compare-title">
          Before and after
        </h1>
        <Choice
          label="before"
          options={options}
          at={comparable.indexOf(beforeAt)}
          onChoose={(n) => model.go({ before: at(n) })}
        />
        <Choice
          label="after"
          options={options}
          at={comparable.indexOf(position)}
          onChoose={(n) => model.go({ file: at(n), before: beforeAt, module: null })}
        />
        <button
          type="button"
          class="quiet"
          onClick={() => model.go({ file: beforeAt, before: position, module: null })}
        >
          Swap
        </button>
      </div>
      {isProfile(first) && isProfile(second) ? (
        <Growth before={first} after={second} />
      ) : (
        <Comparison before={first.report} after={second === model.current?.capture ? after : second.report} />
      )}
    </section>
  );
}

/** What a memory profile has more and less than one before. */
function Growth({ before, after }: { before: Capture; after: Capture }) {
  const { value, error } = useAnswer(() => after.since(before.input), [before, after]);
  const of = value?.memory_profile;
  if (error !== null) return <p class="note trouble">{plain(error)}</p>;
  if (!value || !of) return <p class="none">Comparing …</p>;
  return (
    <>
      <p class="big">
        <Prose text={value.verdict.sentence} />
      </p>
      {value.findings.map((f) => (
        <div key={f.id} class="stack">
          <p>
            <Prose text={`${f.sentence} ${f.cause}`} />
          </p>
        </div>
      ))}
      <Changes of={of.changes} />
    </>
  );
}

const CHANGE = { gone: 'gone', new: 'new', still: 'still there' } as const;

const bufferColumns: readonly Column<BufferChange>[] = [
  {
    id: 'difference',
    head: 'Difference',
    numeric: true,
    sort: (b) => Math.abs(b.afterBytes - b.beforeBytes),
    cell: (b) => <Difference bytes={b.afterBytes - b.beforeBytes} />,
  },
  {
    id: 'before',
    head: 'Before',
    numeric: true,
    sort: (b) => b.beforeBytes,
    cell: (b) => <Side bytes={b.beforeBytes} n={b.beforeCount} />,
  },
  {
    id: 'after',
    head: 'After',
    numeric: true,
    sort: (b) => b.afterBytes,
    cell: (b) => <Side bytes={b.afterBytes} n={b.afterCount} />,
  },
  { id: 'shape', head: 'Shape', sort: (b) => b.sample.shape, cell: (b) => <Shape text={b.sample.shape} /> },
  {
    id: 'role',
    head: 'Role',
    minor: true,
    sort: (b) => (b.sample.kind === 'temp' ? b.sample.role : b.sample.kind),
    cell: (b) => (
      <Keyed of={swatchOf(b.sample)}>
        {b.sample.kind === 'temp' ? ROLE[b.sample.role].label : KIND[b.sample.kind].label}
      </Keyed>
    ),
  },
  names('name', 'Name', (b) => b.name, 64),
];

function Side({ bytes, n }: { bytes: number; n: number }) {
  if (n === 0) return <span class="soft">none</span>;
  return (
    <>
      <Size bytes={bytes} /> <span class="soft">×{count(n)}</span>
    </>
  );
}

/** What changed most: the plan's need, or what else was alive beside it. */
function headlineOf(pairs: readonly Pair[]): string | null {
  const change = (what: string) => {
    const pair = pairs.find((p) => p.label === what);
    return pair === undefined || pair.before === null || pair.after === null ? null : pair.after - pair.before;
  };
  const need = change(NEED);
  const other = change(OTHER);
  if (need === null) return null;
  const moved = (bytes: number) => `${size(Math.abs(bytes))} ${bytes < 0 ? 'less' : 'more'}`;
  if (need !== 0) return `The plan needs ${moved(need)}`;
  return other === null || other === 0
    ? 'The plan needs as much as before'
    : `The plan needs as much as before, and ${moved(other)} of other arrays stay alive beside it`;
}

function Comparison({ before, after }: { before: Report; after: Report }) {
  const a = poolOf(before);
  const b = poolOf(after);
  const gauge = gaugeOf(b ?? a, [a?.totalBytes ?? 0, a?.capacityBytes ?? 0]);
  const most = Math.max(a?.totalBytes ?? 0, b?.totalBytes ?? 0);
  const pairs = useMemo(() => numbers(before, after), [before, after]);
  const findings = useMemo(() => findingChanges(before, after), [before, after]);
  const buffers = useMemo(() => bufferChanges(before, after), [before, after]);
  const headline = headlineOf(pairs);
  const same = buffers.filter((x) => x.beforeBytes === x.afterBytes).length;
  return (
    <>
      <div class="on-scale">
        <GaugeLines gauge={gauge} />
        <div class="row">
          <div>
            {headline !== null && <p class="big">{headline}</p>}
            <p>
              <span class="soft">before </span>
              <Prose text={before.verdict.sentence} />
            </p>
            <p>
              <span class="soft">after </span>
              <Prose text={after.verdict.sentence} />
            </p>
          </div>
          <div>
            <GaugeAxis gauge={gauge} />
            {a !== null && (
              <>
                <p class="bar-name">before</p>
                <PoolBar pool={a} gauge={gauge} />
                <Lens pool={a} gauge={gauge} most={most} />
              </>
            )}
            {b !== null && (
              <>
                <p class="bar-name">after</p>
                <PoolBar pool={b} gauge={gauge} />
                <Lens pool={b} gauge={gauge} most={most} />
              </>
            )}
          </div>
        </div>
      </div>
      <div class="two-columns">
        <div>
          <h2>Numbers</h2>
          <div class="table">
            <Scroll label="Numbers before and after">
              <table>
                <thead>
                  <tr>
                    <th scope="col">What</th>
                    <th scope="col" class="number">
                      Before
                    </th>
                    <th scope="col" class="number">
                      After
                    </th>
                    <th scope="col" class="number">
                      Difference
                    </th>
                    <th scope="col">Known</th>
                  </tr>
                </thead>
                <tbody>
                  {pairs.map((p) => (
                    <tr key={p.label}>
                      <th scope="row">{p.label}</th>
                      {[p.before, p.after].map((n) => (
                        <td class="number">
                          {n === null ? <Unknown /> : p.unit === 'bytes' ? <Size bytes={n} /> : count(n)}
                        </td>
                      ))}
                      <td class="number">
                        {p.before === null || p.after === null ? (
                          <Unknown />
                        ) : p.unit === 'bytes' ? (
                          <Difference bytes={p.after - p.before} better={p.better} />
                        ) : (
                          signedCount(p.after - p.before)
                        )}
                      </td>
                      <td>
                        <Tag evidence={p.evidence} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          </div>
        </div>
        <div>
          <h2>Findings</h2>
          {findings.length === 0 && <p class="none">Neither has anything to complain about.</p>}
          <ul class="plain-list changes">
            {findings.map(({ change, finding }) => (
              <li key={`${change} ${finding.id}`} class={`change-${finding.severity === 'ok' ? 'still' : change}`}>
                <b>{CHANGE[change]}</b> <SeverityMark severity={finding.severity} />{' '}
                <span>
                  <Prose text={finding.title} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      </div>
      {buffers.length > 0 && (
        <div>
          <div class="view-head">
            <h2>
              Buffers at the peak, by name and shape <Tag evidence="read" />
            </h2>
            <p class="soft">{plural(same, 'row')} without a difference last</p>
          </div>
          <DataTable
            caption="Buffers at the peak before and after"
            columns={bufferColumns}
            rows={buffers}
            rowKey={(x) => x.key}
            sortBy="difference"
            page={40}
          />
        </div>
      )}
    </>
  );
}
