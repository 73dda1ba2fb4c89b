/** The plan: what is live over the schedule, at any moment of it, and whose it is. */

import { useEffect, useMemo } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Buffer, DonationPair, Donor, PlanReport, Report } from '../../generated/report';
import { type Band, type Lane, type Level, series } from '../chart/data';
import { StackChart } from '../chart/StackChart';
import { ROLE, ROLES } from '../lib/palette';
import { analysed, deviceSpace, poolOf } from '../lib/pool';
import { bufferKey } from '../lib/stack';
import { plain } from '../lib/text';
import { count, decimalStep, percent, size } from '../lib/units';
import { Name, Size, Tag } from '../ui/basic';
import { useAnswer, useKept, useModel } from '../ui/context';
import { Scroll } from '../ui/scroll';
import { type Column, DataTable, names, sizes } from '../ui/table';
import { BufferTable, type Filter, NO_FILTER, passes, Shape } from './Buffers';
import { Treemap } from './Treemap';

export function PlanView({ report, capture }: { report: Report; capture: Capture }) {
  const { plan } = report;
  const module = analysed(report);
  if (plan === null || module === null) return <p class="none">The capture holds no plan of this module.</p>;
  return <ThePlan key={plan.module} report={report} capture={capture} plan={plan} />;
}

const EMPTY: readonly Buffer[] = [];

/** The first event at which something of the backward pass can be live; infinite where there is none. */
function backwardStart({ curve, peak }: PlanReport): number {
  if (curve === null || peak === null) return 0;
  const { backward = [], recomputed = [] } = curve.roles;
  const at = curve.events.findIndex((_, i) => (backward[i] ?? 0) + (recomputed[i] ?? 0) > 0);
  // Between two points of a curve that is sampled there can be more than they show.
  if (at < 0) return curve.events.length < peak.events ? 0 : Number.POSITIVE_INFINITY;
  return (curve.events[at - 1] ?? -1) + 1;
}

function ThePlan({ report, capture, plan }: { report: Report; capture: Capture; plan: PlanReport }) {
  const model = useModel();
  const { peak, curve } = plan;
  const pool = useMemo(() => poolOf(report), [report]);
  const space = pool === null ? null : deviceSpace(pool.module);
  const [withRest, setWithRest] = useKept(`rest ${plan.module}`, true);
  const [filter, setFilter] = useKept<Filter>(`filter ${plan.module}`, NO_FILTER);
  const event = model.settings.event ?? peak?.event ?? 0;

  const atPeak = peak !== null && event === peak.event;
  const asked = useAnswer(
    () => (atPeak || peak === null ? Promise.resolve(null) : capture.planAt(event, plan.module)),
    [event, capture, plan.module],
  );
  const buffers = (atPeak || asked.value === null ? peak?.buffers : asked.value.buffers) ?? EMPTY;
  const instruction = atPeak ? peak.instruction : (asked.value?.instruction ?? null);

  const shown = useMemo(() => buffers.filter((b) => passes(b, filter)), [buffers, filter]);
  const chosen = model.selected === null ? null : (buffers.find((b) => bufferKey(b) === model.selected) ?? null);

  const s = useMemo(() => {
    if (curve === null || peak === null) return null;
    const bands: Band[] = [];
    const constant = (bytes: number) => new Float64Array(curve.events.length).fill(bytes);
    if (withRest && space !== null) {
      const rest: [string, string, number, boolean][] = [
        ['donated', '--c-parameters', space.donated_bytes, true],
        ['parameters', '--c-parameters', space.parameters_bytes - space.donated_bytes, false],
        ['constants', '--c-constants', space.constants_bytes, false],
        ['outputs', '--c-outputs', space.outputs_bytes, false],
      ];
      for (const [label, color, bytes, striped] of rest)
        if (bytes > 0) bands.push({ key: label, label, color, tint: 0, striped, values: constant(bytes) });
    }
    for (const role of ROLES) {
      const values = curve.roles[role];
      if (values?.some((v) => v > 0))
        bands.push({
          key: role,
          label: ROLE[role].label,
          color: `--c-${ROLE[role].key}`,
          tint: 0,
          striped: ROLE[role].striped ?? false,
          values,
        });
    }
    return series(curve.events, bands, { from: 0, to: Math.max(1, peak.events - 1) });
  }, [curve, peak, withRest, space]);

  const levels = useMemo<Level[]>(() => {
    const out: Level[] = [];
    if (!withRest || pool === null) return out;
    if (pool.capacityBytes !== null)
      out.push({ label: `pool ${size(pool.capacityBytes)}`, bytes: pool.capacityBytes, kind: 'capacity' });
    if (pool.cardBytes !== null)
      out.push({ label: `card ${size(pool.cardBytes)}`, bytes: pool.cardBytes, kind: 'card' });
    return out;
  }, [pool, withRest]);

  // A pool that is not far above the curve belongs into the picture.
  const near =
    s === null ? 0 : Math.max(0, ...levels.map((l) => (l.bytes < (s.totals[s.peak] ?? 0) * 2.5 ? l.bytes : 0)));
  const lanes = useMemo<Lane[]>(
    () => [
      {
        label: 'life',
        spans:
          chosen === null || chosen.first_event === null
            ? []
            : [{ key: '', from: chosen.first_event, to: chosen.last_event ?? chosen.first_event, kind: 'ran' }],
      },
    ],
    [chosen],
  );

  useEffect(() => {
    if (model.settings.focus === 'plan') document.getElementById('buffers-title')?.scrollIntoView({ block: 'center' });
  }, [model.settings.focus]);

  const backwardFrom = useMemo(() => backwardStart(plan), [plan]);
  const moment = (x: number) => `event ${count(x)} of ${count(peak?.events ?? 0)}`;
  const select = (key: string | null) => model.select(key);
  return (
    <section aria-labelledby="plan-title" class="stack">
      <div class="view-head">
        <h1 class="title" id="plan-title">
          Plan of <Name text={plan.module} most={60} />
        </h1>
        {peak !== null && (
          <p>
            Heap peak <Size bytes={peak.bytes} stop /> <Tag evidence="read" /> at event {count(peak.event)} of{' '}
            {count(peak.events)}
            {peak.instruction !== null && (
              <>
                , in <Name text={peak.instruction} most={60} />
              </>
            )}
            {space !== null && space.temp_bytes > peak.bytes && (
              <span
                class="soft"
                data-tip="Bytes of the temp block that no buffer uses at the peak: the loss of packing buffers of different lives side by side."
              >
                , packing loss <Size bytes={space.temp_bytes - peak.bytes} />
              </span>
            )}
          </p>
        )}
      </div>

      {s === null ? (
        <p class="note">
          This plan carries no heap trace, so its peak and what is live at it are unknown. The totals are on the Summary
          and under Capture.
        </p>
      ) : (
        <div class="plan-grid">
          <div>
            <StackChart
              label="Bytes live over the schedule"
              series={s}
              levels={levels}
              lanes={lanes}
              top={near}
              height={330}
              selected={event}
              onSelect={(x) => model.go({ event: x === peak?.event ? null : x }, true)}
              moment={moment}
              xTick={(x) => count(x)}
              xStep={(span, ticks) => Math.max(1, decimalStep(span, ticks))}
            />
            <label class="switch">
              <input type="checkbox" checked={withRest} onChange={(e) => setWithRest(e.currentTarget.checked)} /> with
              parameters and outputs, which live throughout
            </label>
          </div>
          <div>
            <p class="reading-total">
              <Size bytes={shown.reduce((n, b) => n + b.bytes * b.count, 0)} />{' '}
              <span class="soft">
                live at {moment(event)}
                {atPeak ? ', the peak' : ''}, by role and module path
              </span>
            </p>
            <Treemap
              buffers={shown}
              height={392}
              selected={model.selected}
              onSelect={select}
              label="Buffers by role and module path"
            />
          </div>
        </div>
      )}

      {peak !== null && (
        <>
          <div class="view-head">
            <h2 id="buffers-title">
              Buffers live at {moment(event)}
              {atPeak && ', the peak'}
            </h2>
            {instruction !== null && (
              <p class="soft">
                while <Name text={instruction} most={80} /> runs
              </p>
            )}
            {asked.waiting && !atPeak && <p class="soft">looking …</p>}
            {asked.error !== null && !atPeak && <p class="note trouble">{plain(asked.error, 300)}</p>}
          </div>
          <BufferTable
            buffers={buffers}
            backwardFrom={backwardFrom}
            filter={filter}
            onFilter={setFilter}
            selected={model.selected}
            onSelect={select}
            caption={`Buffers live at ${moment(event)}`}
          />
          <CurveAsText plan={plan} />
        </>
      )}
      <DonationTable plan={plan} />
      <DonorTable donors={plan.donation.donors} />
    </section>
  );
}

/** The curve for those who don't see it. */
function CurveAsText({ plan }: { plan: PlanReport }) {
  const { curve, peak } = plan;
  if (curve === null || peak === null) return null;
  const roles = ROLES.filter((r) => curve.roles[r] !== undefined);
  const steps = 12;
  const picked = [
    ...new Set([
      ...Array.from({ length: steps + 1 }, (_, i) => Math.round((i / steps) * (curve.events.length - 1))),
      curve.events.indexOf(peak.event),
    ]),
  ]
    .filter((i) => i >= 0)
    .sort((a, b) => a - b);
  return (
    <details class="as-text">
      <summary>The curve as a table</summary>
      <div class="table">
        <Scroll label="Bytes live over the schedule">
          <table>
            <thead>
              <tr>
                <th scope="col">Event</th>
                {roles.map((r) => (
                  <th scope="col" class="number">
                    {ROLE[r].label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {picked.map((i) => (
                <tr key={i}>
                  <th scope="row">
                    {count(curve.events[i] ?? 0)}
                    {curve.events[i] === peak.event && ' (peak)'}
                  </th>
                  {roles.map((r) => (
                    <td class="number">
                      <Size bytes={curve.roles[r]?.[i] ?? 0} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
      <p class="soft">At the peak: {peak.roles.map((r) => `${ROLE[r.role].label} ${percent(r.share)}`).join(', ')}.</p>
    </details>
  );
}

const donationColumns: readonly Column<DonationPair>[] = [
  sizes('bytes', 'Size', (p) => p.bytes),
  { id: 'aliased', head: 'Donated', sort: (p) => (p.aliased ? 1 : 0), cell: (p) => (p.aliased ? 'yes' : <b>no</b>) },
  names('parameter', 'Parameter', (p) => p.parameter, 70),
  names('output', 'Output', (p) => p.output, 40),
  { id: 'shape', head: 'Shape', sort: (p) => p.shape, cell: (p) => <Shape text={p.shape} /> },
];

const donorColumns: readonly Column<Donor>[] = [
  sizes('bytes', 'Size', (p) => p.bytes),
  names('parameter', 'Parameter', (p) => p.parameter, 70),
  { id: 'shape', head: 'Shape', sort: (p) => p.shape, cell: (p) => <Shape text={p.shape} /> },
];

function DonorTable({ donors }: { donors: readonly Donor[] }) {
  if (donors.length === 0) return null;
  return (
    <>
      <div class="view-head">
        <h2>Parameters given away for no output</h2>
        <p>
          XLA found no output of their shape: it may write over them, and nothing is freed <Tag evidence="read" />
        </p>
      </div>
      <DataTable
        caption="Donated parameters without an output"
        columns={donorColumns}
        rows={donors}
        rowKey={(p) => p.parameter}
        sortBy="bytes"
        page={12}
      />
    </>
  );
}

function DonationTable({ plan }: { plan: PlanReport }) {
  const { pairs, missed_bytes } = plan.donation;
  if (pairs.length === 0) return null;
  return (
    <>
      <div class="view-head">
        <h2>Parameters and the outputs of their shape</h2>
        <p>
          {missed_bytes > 0 ? (
            <>
              <Size bytes={missed_bytes} stop /> of outputs could take over a parameter's memory and do not
            </>
          ) : (
            'every one of them shares its memory'
          )}{' '}
          <Tag evidence="read" />
        </p>
      </div>
      <DataTable
        caption="Parameters and outputs of equal shape"
        columns={donationColumns}
        rows={pairs}
        rowKey={(p) => `${p.parameter} ${p.output}`}
        sortBy="bytes"
        page={12}
      />
    </>
  );
}
