/** What if: several fixes together, and whether the step then fits. */

import { useMemo } from 'preact/hooks';
import type { Capture } from '../../client';
import type { Fix, Report } from '../../generated/report';
import { poolOf } from '../lib/pool';
import { plain } from '../lib/text';
import { Code, Prose, Size, Tag } from '../ui/basic';
import { useAnswer, useKept } from '../ui/context';
import { reach } from './Findings';
import { FitsMark, GaugeAxis, GaugeLines, gaugeOf, Interval, PoolBar } from './Gauge';

/** Every fix of the report once, in the order of the findings. */
export function fixesOf(report: Report): Fix[] {
  const out = new Map<string, Fix>();
  for (const f of report.findings) for (const fix of f.fixes) if (!out.has(fix.id)) out.set(fix.id, fix);
  return [...out.values()];
}

export function WhatIfView({ report, capture }: { report: Report; capture: Capture }) {
  const fixes = useMemo(() => fixesOf(report), [report]);
  const counted = fixes.filter((f) => f.need_after_most_bytes !== null);
  const others = fixes.filter((f) => f.need_after_most_bytes === null);
  const [chosen, setChosen] = useKept<readonly string[]>(`what if ${report.module}`, []);
  const pool = poolOf(report);
  const gauge = gaugeOf(pool, reach(report.findings));
  const answer = useAnswer(
    () => (chosen.length === 0 ? Promise.resolve(null) : capture.whatIf(chosen, report.module ?? undefined)),
    [chosen, capture, report.module],
  );
  const result = chosen.length === 0 ? null : answer.value;
  return (
    <section aria-labelledby="whatif-title" class="stack">
      <h1 class="title" id="whatif-title">
        What if
      </h1>
      <div class="on-scale">
        <GaugeLines gauge={gauge} />
        <div class="row">
          <div>
            <h2>Now</h2>
            {pool !== null && (
              <p>
                The plan needs <Size bytes={pool.needBytes} stop /> <Tag evidence="read" />
              </p>
            )}
          </div>
          <div>
            <GaugeAxis gauge={gauge} />
            {pool !== null && <PoolBar pool={pool} gauge={gauge} />}
          </div>
        </div>
        <div class="row finding">
          <div>
            <h2>{chosen.length === 0 ? 'Choose what to try' : 'With what is chosen'}</h2>
            <fieldset class="choices">
              <legend class="offscreen">Fixes to combine</legend>
              {counted.map((f) => (
                <label key={f.id} class="choice">
                  <input
                    type="checkbox"
                    checked={chosen.includes(f.id)}
                    onChange={() =>
                      setChosen(chosen.includes(f.id) ? chosen.filter((c) => c !== f.id) : [...chosen, f.id])
                    }
                  />
                  <span>
                    <Prose text={f.text} />
                    <span class="soft">
                      {' '}
                      cost <Prose text={f.cost} />
                    </span>
                  </span>
                </label>
              ))}
            </fieldset>
          </div>
          <div aria-live="polite" aria-busy={answer.waiting && chosen.length > 0}>
            {result === null && chosen.length === 0 && (
              <p class="none">The need after them appears here, on the scale of the pool.</p>
            )}
            {answer.error !== null && chosen.length > 0 && <p class="note trouble">{plain(answer.error, 300)}</p>}
            {result !== null && (
              <div class="fix">
                <p class="fix-text">
                  <b>The pool</b> <FitsMark fits={result.fits_pool} />
                  {result.fits_card !== null && (
                    <>
                      , <b>the card</b> <FitsMark fits={result.fits_card} />
                    </>
                  )}
                </p>
                <Interval after={result} gauge={gauge} fits={result.fits_pool} pool={result.pool_after_bytes} />
                <p class="fix-how">
                  <Tag evidence="inferred" /> <Prose text={result.how} />
                </p>
              </div>
            )}
          </div>
        </div>
      </div>
      {chosen.length > 0 &&
        fixes
          .filter((f) => chosen.includes(f.id) && f.code !== null)
          .map((f) => (
            <div key={f.id}>
              <h2>
                <Prose text={f.text} />
              </h2>
              <Code text={f.code ?? ''} label={`Code: ${plain(f.text, 80)}`} />
            </div>
          ))}
      {others.length > 0 && (
        <div>
          <h2>Also worth trying, without a number</h2>
          <ul class="plain-list">
            {others.map((f) => (
              <li key={f.id}>
                <Prose text={f.text} />
                <span class="soft">
                  {' '}
                  cost <Prose text={f.cost} />
                </span>
                {f.code !== null && <Code text={f.code} label={`Code: ${plain(f.text, 80)}`} />}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}
