/** The first screen: the verdict, the pool to scale, the gravest findings with their fixes. */

import type { Report } from '../../generated/report';
import { STATUS } from '../lib/palette';
import { poolOf } from '../lib/pool';
import { plain } from '../lib/text';
import { count, duration, plural, size } from '../lib/units';
import { Name, Prose, Size, Tag } from '../ui/basic';
import { useModel } from '../ui/context';
import { FailureFacts, KIND, mainFailure } from './ErrorText';
import { FindingRow, reach } from './Findings';
import { GaugeAxis, GaugeLines, gaugeOf, Ledger, Lens, PoolBar } from './Gauge';
import { HoldAgainst, lacksPool } from './Given';

/** Findings on the first screen. */
const GRAVEST = 3;

export function SummaryView({ report }: { report: Report }) {
  const model = useModel();
  const pool = poolOf(report);
  const gravest = report.findings.slice(0, GRAVEST);
  const gauge = gaugeOf(pool, reach(gravest, false));
  const more = report.findings.length - gravest.length;
  const failure = mainFailure(report.error_text);
  const status = STATUS[report.verdict.status];
  return (
    <section class="summary" aria-labelledby="verdict">
      <div class="on-scale">
        {pool !== null && <GaugeLines gauge={gauge} />}
        <div class="row verdict">
          <div>
            <p class="finding-head">
              <span class={`severity severity-${status.severity}`}>{status.label}</span>{' '}
              <Tag evidence={report.verdict.evidence} />
            </p>
            <h1 id="verdict">
              <Prose text={report.verdict.sentence} />
            </h1>
            {report.source.kind !== 'error_text' && report.error_text !== null && (
              <p class="your-error">
                <b>Your error.</b>{' '}
                <Prose
                  text={report.error_text.matched?.sentence ?? `It is about ${KIND[failure?.kind ?? 'unknown']}.`}
                />{' '}
                <a href={model.link({ view: 'text' })}>The text</a>
              </p>
            )}
            {model.current?.capture && lacksPool(report) && (
              <HoldAgainst key={model.current.id} report={report} capture={model.current.capture} />
            )}
            {report.warnings.length > 0 && (
              <p class="soft">
                <a href={model.link({ view: 'capture', focus: 'warning' })}>
                  {plural(report.warnings.length, 'warning')} about the file
                </a>
              </p>
            )}
          </div>
          <div>
            {pool === null ? (
              <WithoutPlan report={report} />
            ) : (
              <>
                <p class="gauge-title">
                  <Name text={pool.module.name} most={60} />{' '}
                  {pool.execution === null ? 'as planned' : `at the start of execution ${pool.execution.number}`}
                  {pool.wait?.outcome === 'rescued' && `, which waited ${duration(pool.wait.duration_ps)} for memory`}
                  {pool.allocator !== null && (
                    <span class="soft">
                      {' '}
                      in <Name text={pool.allocator.name} most={40} />
                    </span>
                  )}
                  {gauge.card !== null && gauge.card > gauge.top && (
                    <span class="off-scale">card {size(gauge.card)} →</span>
                  )}
                </p>
                <GaugeAxis gauge={gauge} />
                <PoolBar pool={pool} gauge={gauge} />
                <Lens pool={pool} gauge={gauge} />
                <Ledger pool={pool} />
              </>
            )}
          </div>
        </div>
        {gravest.map((f, i) => (
          <FindingRow key={`${f.id}-${i}`} finding={f} report={report} gauge={gauge} number={i} />
        ))}
      </div>
      <p class="onward">
        {report.findings.length > 0 && (
          <a href={model.link({ view: 'findings' })}>
            {more > 0 ? `${plural(more, 'more finding')}, with causes, numbers and code` : 'Causes, numbers and code'}
          </a>
        )}
        <a href={model.link({ view: 'capture', focus: 'limits' })}>What this capture cannot tell</a>
        {report.source.kind === 'xspace' && report.error_text === null && (
          <span class="soft">
            Paste the text of the error here, or drop a memory.prof, to match it with this capture.
          </span>
        )}
      </p>
    </section>
  );
}

/** What a file without a plan has instead. */
function WithoutPlan({ report }: { report: Report }) {
  const model = useModel();
  const failure = mainFailure(report.error_text);
  const profile = report.memory_profile;
  if (failure !== null) {
    return (
      <>
        <FailureFacts of={failure} />
        <p class="onward">
          <a href={model.link({ view: 'text' })}>All that the text says</a>
        </p>
      </>
    );
  }
  if (profile !== null) {
    return (
      <>
        <dl class="facts">
          {profile.totals.map((t) => (
            <>
              <dt>
                {plain(t.kind, 40)}s{t.device !== null && ` on ${plain(t.device, 40)}`}
              </dt>
              <dd>
                {count(t.count)}, together <Size bytes={t.bytes} />
              </dd>
            </>
          ))}
        </dl>
        <p class="onward">
          <a href={model.link({ view: 'profile' })}>By Python stack</a>
        </p>
      </>
    );
  }
  return <p class="none">This file holds no memory plan of a program, so there is no bar to draw.</p>;
}
