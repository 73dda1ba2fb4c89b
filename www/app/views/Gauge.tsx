/**
 * Bytes to scale: one scale for the pool bar and for every fix, so that the line of the capacity runs through them all.
 */

import type { ComponentChildren } from 'preact';
import type { Fits, Fix } from '../../generated/report';
import type { Pool, Segment } from '../lib/pool';
import { plain } from '../lib/text';
import { byteStep, count, size, tickSize, ticksBetween } from '../lib/units';
import { Chip, Keyed, Size, Tag, useSize } from '../ui/basic';

/** The right end of the scale. */
export interface Gauge {
  readonly top: number;
  readonly capacity: number | null;
  readonly card: number | null;
}

/** A scale that holds the need, the pool, the fixes, and the card where it isn't far off. */
export function gaugeOf(pool: Pool | null, others: readonly (number | null)[] = []): Gauge {
  const capacity = pool?.capacityBytes ?? null;
  const card = pool?.cardBytes ?? null;
  const most = Math.max(1, pool?.totalBytes ?? 0, capacity ?? 0, ...others.map((b) => b ?? 0));
  return { top: (card !== null && card <= most * 1.6 ? Math.max(card, most) : most) * 1.04, capacity, card };
}

const share = (bytes: number, g: Gauge): string => `${Math.min(100, Math.max(0, (bytes / g.top) * 100))}%`;

/** Names of levels, each to the right of its line or to the left; where they would meet, one name for both. */
function names(gauge: Gauge, room: number) {
  const { capacity, card, top } = gauge;
  const name = (words: string, bytes: number, soft: boolean, flip: boolean) => ({ words, bytes, soft, flip });
  const pool = capacity === null ? null : name(`pool ${size(capacity)}`, capacity, false, capacity > top * room);
  if (card === null || card > top) return pool === null ? [] : [pool];
  const whole = name(`card ${size(card)}`, card, true, card > top * (1 - room));
  if (pool === null) return [whole];
  const [low, high] = pool.bytes <= card ? [pool, whole] : [whole, pool];
  const space = (high.bytes - low.bytes) / top - (low.flip ? 0 : room) - (high.flip ? room : 0);
  return space >= 0
    ? [pool, whole]
    : [{ ...(low.flip ? high : low), words: `${low.words}, ${high.words}`, soft: false }];
}

/** Pool and card by name, and round values along the top. */
export function GaugeAxis({ gauge }: { gauge: Gauge }) {
  const { top } = gauge;
  const step = byteStep(top, 7);
  return (
    <div class="gauge-axis" aria-hidden="true">
      {/* A name takes that part of the narrowest scale that the style shows it on. */}
      {(
        [
          ['on-wide', 0.22],
          ['on-narrow', 0.31],
        ] as const
      ).map(([where, room]) =>
        names(gauge, room).map(({ words, bytes, soft, flip }) => (
          <b class={`${where}${flip ? ' flip' : ''}${soft ? ' soft' : ''}`} style={{ left: share(bytes, gauge) }}>
            {words}
          </b>
        )),
      )}
      {ticksBetween(0, top, step).map((v) => (
        <span class={v > top * 0.93 ? 'flip' : ''} style={{ left: share(v, gauge) }}>
          {tickSize(v, step)}
        </span>
      ))}
    </div>
  );
}

/** The lines behind what is on the scale: grid, pool, card, and the ground beyond the pool. */
export function GaugeLines({ gauge }: { gauge: Gauge }) {
  const step = byteStep(gauge.top, 7);
  const { capacity, card } = gauge;
  return (
    <div class="gauge-lines" aria-hidden="true">
      {capacity !== null && <i class="beyond" style={{ left: share(capacity, gauge) }} />}
      {ticksBetween(0, gauge.top, step).map((v) => (
        <i class="tick" style={{ left: share(v, gauge) }} />
      ))}
      {card !== null && card <= gauge.top && <i class="card" style={{ left: share(card, gauge) }} />}
      {capacity !== null && <i class="capacity" style={{ left: share(capacity, gauge) }} />}
    </div>
  );
}

/** The parts of a segment that are drawn: temp by its roles, where the plan knows them. */
function pieces(s: Segment) {
  return s.roles.length > 0
    ? s.roles.map((r) => ({ swatch: r.swatch, bytes: r.bytes }))
    : [{ swatch: s.swatch, bytes: s.bytes }];
}

/** The bar: what is needed, what else is live, and what doesn't fit sticking out past the pool. */
export function PoolBar({ pool, gauge }: { pool: Pool; gauge: Gauge }) {
  const { capacity } = gauge;
  const size = useSize();
  const short = capacity !== null && pool.totalBytes > capacity;
  let left = 0;
  return (
    <div class="pool-bar" role="img" aria-label={poolInWords(pool)}>
      <GaugeLines gauge={gauge} />
      <i class="zero" />
      {pool.segments.map((s) => {
        const from = left;
        left += s.bytes;
        let inner = from;
        return (
          <div class="segment" key={s.id}>
            {pieces(s).map((p) => {
              const start = inner;
              inner += p.bytes;
              return (
                <i
                  class={`fill-${p.swatch.key}${p.swatch.striped ? ' striped' : ''}`}
                  data-tip={`${s.label}${p.swatch === s.swatch ? '' : `, ${p.swatch.label}`} ${size(p.bytes)}`}
                  style={{ left: share(start, gauge), width: `calc(${share(inner, gauge)} - ${share(start, gauge)})` }}
                />
              );
            })}
            {s.bytes / gauge.top > 0.05 && (
              // Whole or not at all: the words go to a line out of sight where they have no room.
              <span
                class="segment-label"
                style={{
                  left: share(from, gauge),
                  width: `min(${share(s.bytes, gauge)}, ${share(pool.totalBytes - from, gauge)} - ${short ? 116 : 0}px)`,
                }}
              >
                <i />
                <span>
                  {s.label} <b>{size(s.bytes)}</b>
                </span>
              </span>
            )}
          </div>
        );
      })}
      {!short && pool.scattered?.missing && capacity !== null && (
        <b
          class="no-piece"
          style={{ left: share(pool.totalBytes, gauge), right: `calc(100% - ${share(capacity, gauge)})` }}
        >
          no free piece of {size(pool.scattered.missing.bytes)}
        </b>
      )}
      {short && (
        <i
          class="over"
          style={{
            left: share(capacity, gauge),
            width: `calc(${share(pool.totalBytes, gauge)} - ${share(capacity, gauge)})`,
          }}
        >
          <b>short {size(pool.totalBytes - capacity, capacity)}</b>
        </i>
      )}
    </div>
  );
}

/** Where the need is a sliver of the pool: the same bar, enlarged. */
export function Lens({ pool, gauge, most = pool.totalBytes }: { pool: Pool; gauge: Gauge; most?: number }) {
  if (most <= 0 || most > gauge.top * 0.12) return null;
  const near: Gauge = { top: most, capacity: null, card: null };
  return (
    <div class="lens">
      <svg class="lens-lines" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        <polygon points={`0,0 ${(most / gauge.top) * 100},0 100,10 0,10`} />
      </svg>
      <PoolBar pool={pool} gauge={near} />
      <p class="soft lens-note">enlarged {count(gauge.top / most)} times</p>
    </div>
  );
}

/** The bar's text equivalent. */
export function poolInWords(pool: Pool): string {
  const parts = pool.segments.map((s) => `${s.label} ${size(s.bytes)}`);
  const { capacityBytes: capacity, leftBytes: left, cardBytes: card } = pool;
  return [
    `Need and other live arrays: ${size(pool.totalBytes)} (${parts.join(', ')}).`,
    capacity === null ? 'The size of the pool is not in the capture.' : `Pool ${size(capacity)}.`,
    pool.scattered?.missing ? `No free piece of ${size(pool.scattered.missing.bytes)}.` : '',
    left === null ? '' : left < 0 ? `Short by ${size(-left, capacity ?? 0)}.` : `${size(left)} left.`,
    card === null ? '' : `Card ${size(card)}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

const FITS: Record<Fits, string> = { yes: 'fits', no: 'does not fit', maybe: 'may fit' };

export function FitsMark({ fits }: { fits: Fits | null }) {
  return <span class={`fits fits-${fits ?? 'unknown'}`}>{fits === null ? 'pool unknown' : FITS[fits]}</span>;
}

/** What a fix, or several, lead to. */
type After = Pick<
  Fix,
  'need_after_least_bytes' | 'need_after_most_bytes' | 'others_after_least_bytes' | 'others_after_most_bytes'
>;

/** The most that must be held after a fix: the need, and what else stays alive beside it. */
export const mostAfter = (after: After): number | null =>
  after.need_after_most_bytes === null ? null : after.need_after_most_bytes + (after.others_after_most_bytes ?? 0);

/** Other arrays of less than this are no words worth beside a need (1 MiB). */
const WORTH_A_WORD = 1 << 20;

/** What must be held after a fix: at least … at most, as a whisker on the scale. */
export function Interval({
  after,
  gauge: now,
  fits,
  pool = now.capacity,
}: {
  after: After;
  gauge: Gauge;
  fits: Fits | null;
  /** The size of the pool after it. */
  pool?: number | null;
}) {
  const { need_after_least_bytes: least, need_after_most_bytes: most } = after;
  if (least === null || most === null) return null;
  const others = { least: after.others_after_least_bytes ?? 0, most: after.others_after_most_bytes ?? 0 };
  const from = least + others.least;
  const to = most + others.most;
  // What fits beyond the line fits another pool than that of now.
  const larger = pool !== now.capacity || (fits === 'yes' && now.capacity !== null && to > now.capacity);
  const gauge = larger ? { ...now, capacity: pool === now.capacity ? null : pool } : now;
  const words = (a: number, b: number) => (a === b ? size(a) : `at least ${size(a)}, at most ${size(b)}`);
  const beside = others.most >= WORTH_A_WORD;
  return (
    <>
      <div
        class={`whisker fits-${fits ?? 'unknown'}${larger ? ' own-pool' : ''}`}
        role="img"
        aria-label={`Need after it: ${words(least, most)}${beside ? `; beside it other arrays: ${words(others.least, others.most)}` : ''}`}
      >
        <GaugeLines gauge={gauge} />
        <i
          class="bar"
          style={{ left: share(from, gauge), width: `calc(${share(to, gauge)} - ${share(from, gauge)})` }}
        />
      </div>
      <span class="interval-numbers" aria-hidden="true">
        need <Span least={least} most={most} />
        {beside && (
          <>
            {' '}
            beside <Span least={others.least} most={others.most} /> of other arrays
          </>
        )}
        {larger && (
          <>
            , in{' '}
            {gauge.capacity === null ? (
              'the larger pool'
            ) : (
              <>
                a pool of <Size bytes={gauge.capacity} />
              </>
            )}
          </>
        )}
      </span>
    </>
  );
}

function Span({ least, most }: { least: number; most: number }) {
  if (least === most) return <Size bytes={least} />;
  return (
    <>
      <Size bytes={least} /> to <Size bytes={most} />
    </>
  );
}

/** The bar as arithmetic, each line with how it is known. */
export function Ledger({ pool }: { pool: Pool }) {
  const { capacityBytes: capacity, leftBytes: left } = pool;
  const own = pool.segments.filter((s) => s.id !== 'live' && s.id !== 'copies');
  const copies = pool.segments.find((s) => s.id === 'copies');
  const { scattered } = pool;
  const others = pool.module.spaces.filter((s) => s.space !== 0 && s.need_bytes > 0);
  const line = (label: ComponentChildren, bytes: number | null, evidence: Segment['evidence'] | null, kind = '') => (
    <tr class={kind}>
      <th scope="row">{label}</th>
      <td class="number">
        <Size bytes={bytes} like={kind === 'sum short' ? (capacity ?? 0) : 0} />
      </td>
      <td>{evidence !== null && <Tag evidence={evidence} />}</td>
    </tr>
  );
  return (
    <div class="ledger">
      <table>
        <caption class="offscreen">What the plan needs</caption>
        <tbody>
          {own.map((s) =>
            line(
              <>
                <span class="keyed" data-tip={s.swatch.help}>
                  {s.roles.length === 0 && <Chip of={s.swatch} />} {s.label}
                </span>
                {s.roles.map((r) => (
                  <>
                    {' '}
                    <Keyed of={r.swatch} />
                  </>
                ))}
              </>,
              s.bytes,
              s.evidence,
            ),
          )}
          {line('need', pool.needBytes, 'read', 'sum')}
        </tbody>
      </table>
      <table>
        <caption class="offscreen">What there is room for</caption>
        <tbody>
          {line('pool', capacity, capacity === null ? null : pool.capacityEvidence)}
          {line(
            <span class="keyed" data-tip="Arrays in use when the execution started that are none of its parameters.">
              <i class="chip fill-live" aria-hidden="true" /> other live arrays
            </span>,
            pool.otherBytes,
            pool.otherBytes === null ? null : 'read',
          )}
          {line('need', pool.needBytes, 'read')}
          {copies !== undefined && line(<Keyed of={copies.swatch} />, copies.bytes, copies.evidence)}
          {left === null
            ? null
            : line(
                // What else is live only makes it less.
                `${left < 0 ? 'short by' : 'left'}${pool.otherBytes !== null ? '' : left < 0 ? ' at least' : ' at most'}`,
                Math.abs(left),
                pool.capacityEvidence === 'inferred' ? 'inferred' : 'read',
                left < 0 ? 'sum short' : 'sum',
              )}
          {scattered?.missing && (
            <>
              {line('free when it asked', scattered.free_bytes, scattered.evidence)}
              {line('asked for, in one piece', scattered.missing.bytes, scattered.missing.evidence)}
              {line('largest free piece', scattered.largest_free_bytes, scattered.evidence, 'short')}
            </>
          )}
        </tbody>
      </table>
      {others.length > 0 && (
        <p class="other-spaces">
          <span class="soft">Besides, and no part of it: </span>
          {others.map((s, i) => (
            <>
              {i > 0 && ', '}
              {plain(s.name, 60)} <Size bytes={s.need_bytes} />
            </>
          ))}{' '}
          <Tag evidence="read" />
        </p>
      )}
    </div>
  );
}
