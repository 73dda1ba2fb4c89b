/** The run: what the allocator did over time, and whose every byte was. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Allocator, Report } from '../../generated/report';
import {
  type Band,
  busy,
  type Lane,
  type Level,
  type Line,
  type Refused,
  type Series,
  type Span,
  series,
} from '../chart/data';
import { StackChart } from '../chart/StackChart';
import { OWNER } from '../lib/palette';
import { allocatorOf, cardOf, gravest, mainExecution } from '../lib/pool';
import type { Range } from '../lib/scale';
import { plain } from '../lib/text';
import { count, decimalStep, duration, percent, plural, size, tickTime } from '../lib/units';
import { Name, Size, Tag, Unknown } from '../ui/basic';
import { Choice } from '../ui/choice';
import { useModel } from '../ui/context';
import { Scroll } from '../ui/scroll';
import { LiveNow } from './LiveNow';
import { Between, Executions, LiveAtLastStart, OpByOp, Waits } from './RunTables';

export function RunView({ report, capture }: { report: Report; capture: Capture }) {
  const model = useModel();
  const { allocators } = report;
  const allocator =
    allocators.find((a) => a.name === model.settings.allocator) ??
    allocatorOf(report, mainExecution(report)) ??
    allocators[0] ??
    null;
  return (
    <section aria-labelledby="run-title" class="stack">
      <div class="view-head">
        <h1 class="title" id="run-title">
          Run
        </h1>
        {allocators.length > 1 && allocator !== null && (
          <Choice
            label="allocator"
            options={allocators.map(
              (a) => `${plain(a.name, 50)} · peak ${a.peak_bytes === null ? 'unknown' : size(a.peak_bytes)}`,
            )}
            at={allocators.indexOf(allocator)}
            onChoose={(i) => model.go({ allocator: allocators[i]?.name ?? null, at: null, focus: null })}
          />
        )}
        {allocator !== null && allocators.length === 1 && <Name text={allocator.name} />}
      </div>
      {allocator === null ? (
        <p class="note">
          This capture has no allocator events: what was in use, and when, is not in it. Limits under Capture say why
          that may be.
        </p>
      ) : (
        <OneAllocator key={allocator.name} report={report} capture={capture} allocator={allocator} />
      )}
      {report.op_by_op !== null && <OpByOp of={report.op_by_op} omitted={report.omitted} />}
      <Executions report={report} />
      <LiveAtLastStart report={report} />
      <Between report={report} />
    </section>
  );
}

/** Bands from below: what was there before, then results, transfers, others, and scratch on top. */
const ORDER = ['before_capture', 'outputs', 'device_put', 'other', 'temp'] as const;

function seriesOf(a: Allocator, whole: Range): Series {
  const bands: Band[] = [];
  for (const kind of ORDER) {
    let nth = 0;
    for (const o of a.timeline.owners) {
      if (o.kind !== kind) continue;
      const swatch = OWNER[kind];
      // Results of several modules are shades of one colour.
      bands.push({
        key: `${kind} ${o.owner}`,
        label: o.owner,
        color: `--c-${swatch.key}`,
        tint: [0, 0.35, 0.6][nth % 3] ?? 0,
        striped: false,
        values: o.bytes,
      });
      nth++;
    }
  }
  if (bands.length === 0)
    bands.push({
      key: 'in use',
      label: 'in use',
      color: '--c-live',
      tint: 0,
      striped: false,
      values: a.timeline.in_use_bytes,
    });
  const { at_ps, reserved_bytes, largest_free_bytes } = a.timeline;
  const lines: Line[] = [];
  // What a program has reserved counts as neither used nor free.
  if (reserved_bytes.length > 0)
    lines.push({ label: 'reserved for loaded programs', color: '--c-temp', values: reserved_bytes });
  if (largest_free_bytes.length > 0)
    lines.push({ label: 'largest free chunk', color: '--ink-soft', values: largest_free_bytes, above: reserved_bytes });
  return series(at_ps, bands, whole, lines);
}

function OneAllocator({ report, capture, allocator: a }: { report: Report; capture: Capture; allocator: Allocator }) {
  const model = useModel();
  const { executions, retries } = report;
  const mine = useMemo(
    () =>
      executions
        .map((e, i) => ({ e, i }))
        .filter(
          ({ e }) => e.allocator === a.name || (e.allocator === null && e.device === a.device && a.kind === 'device'),
        ),
    [executions, a],
  );
  const waits = useMemo(
    () => retries.map((r, i) => ({ r, i })).filter(({ r }) => r.allocator === a.name || r.allocator === null),
    [retries, a],
  );

  const s = useMemo(() => {
    const at = a.timeline.at_ps;
    let from = at[0] ?? 0;
    let to = at[at.length - 1] ?? 1;
    for (const { e } of mine) {
      from = Math.min(from, e.start_ps);
      to = Math.max(to, e.start_ps + e.duration_ps);
    }
    const margin = (to - from) * 0.01;
    return seriesOf(a, { from: from - margin, to: to + margin });
  }, [a, mine]);

  const card = a.kind === 'device' ? cardOf(report, a) : null;
  const levels = useMemo<Level[]>(() => {
    const out: Level[] = [];
    if (a.capacity_bytes !== null)
      out.push({ label: `pool ${size(a.capacity_bytes)}`, bytes: a.capacity_bytes, kind: 'capacity' });
    if (card !== null) out.push({ label: `card ${size(card)}`, bytes: card, kind: 'card' });
    return out;
  }, [a, card]);
  // What programs have reserved is taken too.
  const peak = useMemo(
    () => s.totals.reduce((most, bytes, i) => Math.max(most, bytes + (a.timeline.reserved_bytes[i] ?? 0)), 0),
    [s, a],
  );
  const far = a.capacity_bytes !== null && a.capacity_bytes > peak * 3;
  // Where memory was short, how much there is belongs into the picture.
  const short = waits.some(({ r }) => r.allocator === a.name) || mine.some(({ e }) => e.outcome === 'failed');
  const [toPool, setToPool] = useState(!far || short);
  const start = useMemo(
    () =>
      busy(
        s,
        waits.map(({ r }) => r.at_ps),
      ),
    [s, waits],
  );
  const refused = useMemo(
    () =>
      waits.map(
        ({ r }): Refused => ({
          from: r.at_ps,
          to: r.at_ps + r.duration_ps,
          inUse: r.in_use_bytes ?? 0,
          bytes: r.in_use_bytes === null ? 0 : (r.missing?.bytes ?? 0),
          kind: r.outcome,
          label: `${size(r.missing?.bytes ?? 0)} ${r.outcome === 'failed' ? 'refused' : 'waited for'}`,
          goesOn: `the wait goes on, ${duration(r.duration_ps)} in all →`,
        }),
      ),
    [waits],
  );
  let reach = toPool
    ? refused.reduce((most, r) => Math.max(most, r.inUse + r.bytes), Math.max(a.capacity_bytes ?? 0, peak))
    : peak;
  if (card !== null && card <= reach * 1.6) reach = Math.max(reach, card);

  const lanes = useMemo<Lane[]>(() => {
    const runs: Span[] = mine.map(({ e, i }) => ({
      key: `execution.${i}`,
      from: e.start_ps,
      to: e.start_ps + e.duration_ps,
      kind: e.outcome,
    }));
    const out: Lane[] = [{ label: 'executions', spans: runs }];
    if (waits.length > 0)
      out.push({
        label: 'waits',
        spans: waits.map(({ r, i }) => ({
          key: `retry.${i}`,
          from: r.at_ps,
          to: r.at_ps + r.duration_ps,
          kind: r.outcome,
        })),
      });
    return out;
  }, [mine, waits]);

  // What held the memory when some was refused is asked first.
  const wait = gravest(waits.map(({ r }) => r));
  const at = model.settings.at ?? wait?.at_ps ?? a.peak_at_ps ?? s.xs[s.peak] ?? 0;
  const [show, setShow] = useState<Range | null>(null);
  const { focus } = model.settings;
  useEffect(() => {
    // Whoever comes for one execution or wait sees it in the chart too.
    const [kind, n] = (focus ?? '').split('.');
    const span = kind === 'execution' ? executions[Number(n)] : undefined;
    const wait = kind === 'retry' ? retries[Number(n)] : undefined;
    const from = span?.start_ps ?? wait?.at_ps;
    if (from === undefined) return;
    const length = span?.duration_ps ?? wait?.duration_ps ?? 0;
    setShow({ from: from - length * 0.6, to: from + length * 1.6 });
    if (model.settings.at === null) model.go({ at: from }, true);
  }, [focus]);

  const moment = (x: number) => `at ${duration(x)}`;
  return (
    <>
      {s.xs.length === 0 ? (
        <p class="note">No event of this allocator is in the capture.</p>
      ) : (
        <div>
          <StackChart
            label={`Bytes in use in ${plain(a.name, 60)} over time`}
            series={s}
            levels={levels}
            lanes={lanes}
            refused={refused}
            start={start}
            top={reach}
            height={340}
            selected={at}
            onSelect={(x) => model.go({ at: Math.max(0, Math.round(x)), allocator: a.name, focus: null }, true)}
            onSpan={(_, key) => model.go({ focus: key, at: null, allocator: a.name })}
            moment={moment}
            xTick={tickTime}
            xStep={decimalStep}
            show={show}
          />
          {a.capacity_bytes !== null && (
            <label class="switch">
              <input type="checkbox" checked={toPool} onChange={(e) => setToPool(e.currentTarget.checked)} /> as high as
              the pool of {size(a.capacity_bytes)}
            </label>
          )}
        </div>
      )}
      <div class="two-columns run-columns">
        <LiveNow capture={capture} allocator={a} at={at} />
        <AllocatorFacts allocator={a} card={card} />
      </div>
      <RunAsText series={s} />
      <Waits report={report} rows={waits} />
    </>
  );
}

function AllocatorFacts({ allocator: a, card }: { allocator: Allocator; card: number | null }) {
  return (
    <div>
      <h2>
        The allocator <Tag evidence="measured" />
      </h2>
      <dl class="facts">
        <dt>Capacity</dt>
        <dd>
          <Size bytes={a.capacity_bytes} />
          {a.card_share !== null && (
            <>
              , {percent(a.card_share)} of the card's <Size bytes={card} />
            </>
          )}
        </dd>
        <dt>In use at the start</dt>
        <dd>
          <Size bytes={a.in_use_start_bytes} />
        </dd>
        <dt>Peak</dt>
        <dd>
          <Size bytes={a.peak_bytes} />
          {a.peak_at_ps !== null && `, first at ${duration(a.peak_at_ps)}`}
          {a.peak_times > 1 && `, ${plural(a.peak_times, 'time')}`}
        </dd>
        <dt>In use at the end</dt>
        <dd>
          <Size bytes={a.in_use_end_bytes} />
        </dd>
        <dt>Peak since the process started</dt>
        <dd>
          <Size bytes={a.lifetime_peak_bytes} />
        </dd>
        <dt>Free at the peak</dt>
        <dd>
          <Size bytes={a.free_at_peak_bytes} />
          {a.largest_free_at_peak_bytes !== null && (
            <>
              , largest chunk {a.largest_free_error_bytes === 0 ? '' : 'about '}
              <Size bytes={a.largest_free_at_peak_bytes} />
              {a.largest_free_error_bytes !== null && a.largest_free_error_bytes > 0 && (
                <span class="soft">
                  {' '}
                  ±<Size bytes={a.largest_free_error_bytes} />
                </span>
              )}
            </>
          )}
        </dd>
        {a.least_free !== null && a.least_free.reserved_bytes > 0 && (
          <>
            <dt>Least free</dt>
            <dd>
              <Size bytes={a.least_free.bytes} /> at {duration(a.least_free.at_ps)}, beside{' '}
              <Size bytes={a.least_free.in_use_bytes} /> in use and <Size bytes={a.least_free.reserved_bytes} />{' '}
              reserved for loaded programs
            </dd>
          </>
        )}
        <dt>Lost by rounding at the peak</dt>
        <dd>
          <Size bytes={a.rounding_loss_bytes} />
        </dd>
        <dt>Whole pool mapped at start</dt>
        <dd>
          {a.preallocated === null ? (
            <Unknown />
          ) : a.preallocated ? (
            'yes'
          ) : (
            `no, grew ${a.pool_growths === 1 ? 'once' : plural(a.pool_growths, 'time')} in the capture`
          )}
        </dd>
        <dt>Events</dt>
        <dd>
          {count(a.events)}
          {a.chain_breaks > 0 && `, with ${plural(a.chain_breaks, 'gap')} where some were lost`}
        </dd>
      </dl>
    </div>
  );
}

function RunAsText({ series: s }: { series: Series }) {
  const n = s.xs.length;
  if (n === 0) return null;
  const picked = [...new Set([...Array.from({ length: 13 }, (_, i) => Math.round((i / 12) * (n - 1))), s.peak])].sort(
    (a, b) => a - b,
  );
  return (
    <details class="as-text">
      <summary>The chart as a table</summary>
      <div class="table">
        <Scroll label="Bytes in use over time">
          <table>
            <thead>
              <tr>
                <th scope="col">Moment</th>
                <th scope="col" class="number">
                  In use
                </th>
                {[...s.bands, ...s.lines].map((b) => (
                  <th scope="col" class="number">
                    <Name text={b.label} most={40} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {picked.map((i) => (
                <tr key={i}>
                  <th scope="row">
                    {duration(s.xs[i] ?? 0)}
                    {i === s.peak && ' (peak)'}
                  </th>
                  <td class="number">
                    <Size bytes={s.totals[i] ?? 0} />
                  </td>
                  {s.bands.map((b) => (
                    <td class="number">
                      <Size bytes={b.values[i] ?? 0} />
                    </td>
                  ))}
                  {s.lines.map((l) => (
                    <td class="number">
                      <Size bytes={l.values[i] ?? null} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
    </details>
  );
}
