/** The first screen: the verdict, the pool to scale, the gravest findings with their fixes. */

import type { Report } from '../../generated/report';
import { STATUS } from '../lib/palette';
import { poolOf } from '../lib/pool';
import { plural, size } from '../lib/units';
import { Name, Prose, Tag } from '../ui/basic';
import { useModel } from '../ui/context';
import { FindingRow, reach } from './Findings';
import { GaugeAxis, GaugeLines, gaugeOf, Ledger, Lens, PoolBar } from './Gauge';

/** Findings on the first screen. */
const GRAVEST = 3;

export function SummaryView({ report }: { report: Report }) {
  const model = useModel();
  const pool = poolOf(report);
  const gravest = report.findings.slice(0, GRAVEST);
  const gauge = gaugeOf(pool, reach(gravest, false));
  const more = report.findings.length - gravest.length;
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
              <p class="none">This file holds no memory plan of a program, so there is no need to draw.</p>
            ) : (
              <>
                <p class="gauge-title">
                  <Name text={pool.module.name} most={60} />{' '}
                  {pool.execution === null ? 'as planned' : `at the start of execution ${pool.execution.number}`}
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
      </p>
    </section>
  );
}
