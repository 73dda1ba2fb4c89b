/** Findings: what is so, why, and what each fix would save, on the scale of the pool. */

import { useEffect } from 'preact/hooks';
import type { Finding, Fix, Report } from '../../generated/report';
import { place } from '../lib/evidence';
import { poolOf } from '../lib/pool';
import { count, duration, percent, plural, size } from '../lib/units';
import { Code, Prose, SeverityMark, Size, Tag } from '../ui/basic';
import { useModel } from '../ui/context';
import { FitsMark, type Gauge, GaugeAxis, GaugeLines, gaugeOf, Interval, mostAfter } from './Gauge';

/** Fixes of a finding on the first screen. */
const FIXES_AT_FIRST = 3;

/** A fix on the scale. */
export function FixLine({ fix, gauge, full = false }: { fix: Fix; gauge: Gauge; full?: boolean }) {
  return (
    <li class="fix">
      <p class="fix-text">
        <b>
          <Prose text={fix.text} />
        </b>{' '}
        {fix.need_after_most_bytes !== null && <FitsMark fits={fix.fits_after} />}
      </p>
      <Interval after={fix} gauge={gauge} fits={fix.fits_after} />
      {fix.cost !== '' && (
        <p class="fix-cost">
          <span class="soft">cost</span> <Prose text={fix.cost} />
        </p>
      )}
      {full && (
        <>
          {fix.how !== '' && (
            <p class="fix-how">
              <Tag evidence="inferred" /> <Prose text={fix.how} />
            </p>
          )}
          {fix.code !== null && <Code text={fix.code} label={`Code: ${fix.text.slice(0, 80)}`} />}
        </>
      )}
    </li>
  );
}

/** Everything that the fixes of findings reach on the scale. */
export function reach(findings: readonly Finding[], full = true): (number | null)[] {
  return findings.flatMap((f) => f.fixes.slice(0, full ? undefined : FIXES_AT_FIRST).map(mostAfter));
}

/** A number of a finding by the ending of its name, which is its unit. */
function amount(name: string, value: number) {
  if (name.endsWith('_bytes')) return <Size bytes={value} />;
  if (name.endsWith('_ps')) return <>{duration(value)}</>;
  if (name.endsWith('share') || name.endsWith('_ratio')) return <>{percent(value)}</>;
  return <>{Number.isInteger(value) ? count(value) : value.toFixed(2)}</>;
}

const named = (name: string): string =>
  // Beside what is reserved it is not all that was taken.
  name === 'peak_bytes' ? 'peak in use' : name.replace(/_(bytes|ps|count)$/, '').replaceAll('_', ' ');

export function EvidenceLinks({ finding, report }: { finding: Finding; report: Report }) {
  const model = useModel();
  const links = finding.evidence_at.flatMap((ref) => {
    const to = place(ref, report);
    return to === null ? [] : [{ ref, to }];
  });
  if (links.length === 0) return null;
  return (
    <p class="evidence-links">
      <span class="soft">Stands on </span>
      {links.map(({ ref, to }, i) => (
        <>
          {i > 0 && ', '}
          <a href={model.link(to)}>
            <Prose text={ref.what} />
          </a>
        </>
      ))}
    </p>
  );
}

/** The numbers of a finding, each with how it is known. */
function Numbers({ of }: { of: Finding }) {
  const numbers = Object.entries(of.numbers);
  if (numbers.length === 0) return null;
  return (
    <table class="numbers">
      <caption class="offscreen">Numbers of this finding</caption>
      <tbody>
        {numbers.map(([name, n]) => (
          <tr key={name}>
            <th scope="row">{named(name)}</th>
            <td class="number">{amount(name, n.value)}</td>
            <td>
              <Tag evidence={n.evidence} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const NONE: ReadonlySet<string> = new Set();
/** Fixes of one id can act on different arrays: then their words differ. */
const fixKey = (fix: Fix): string => `${fix.id} ${fix.text}`;

/** One finding across both columns: words on the left, fixes on the scale on the right. */
export function FindingRow({
  finding,
  report,
  gauge,
  number,
  told = NONE,
  full = false,
}: {
  finding: Finding;
  report: Report;
  gauge: Gauge;
  number: number;
  /** Fixes that stand whole in a finding above. */
  told?: ReadonlySet<string>;
  full?: boolean;
}) {
  const model = useModel();
  const fixes = full ? finding.fixes : finding.fixes.slice(0, FIXES_AT_FIRST);
  const left = finding.fixes.length - fixes.length;
  return (
    <article
      class="finding"
      data-finding={finding.id}
      id={full ? `at-finding.${number}` : undefined}
      tabIndex={full ? -1 : undefined}
      aria-labelledby={`finding-${number}`}
    >
      <div class="finding-words">
        <p class="finding-head">
          <SeverityMark severity={finding.severity} /> <Tag evidence={finding.evidence} />
        </p>
        <h2 id={`finding-${number}`}>
          <Prose text={finding.title} />
        </h2>
        <p>
          <Prose text={finding.sentence} />
        </p>
        {full && finding.cause !== '' && (
          <p class="cause">
            <Prose text={finding.cause} />
          </p>
        )}
        <EvidenceLinks finding={finding} report={report} />
        {full && <Numbers of={finding} />}
      </div>
      <div class="finding-fixes">
        {fixes.length > 0 && (
          <ul class="fixes" aria-label="Fixes">
            {fixes.map((fix) =>
              told.has(fixKey(fix)) ? (
                <li key={fix.id} class="fix">
                  <p class="fix-text">
                    <b>
                      <Prose text={fix.text} />
                    </b>{' '}
                    <span class="soft">as above</span>
                  </p>
                </li>
              ) : (
                <FixLine key={fix.id} fix={fix} gauge={gauge} full={full} />
              ),
            )}
          </ul>
        )}
        {left > 0 && (
          <p class="more-fixes">
            <a href={model.link({ view: 'findings', focus: null })}>{plural(left, 'more fix', 'more fixes')}</a>
          </p>
        )}
        {!full && finding.fixes.length === 0 && <Numbers of={finding} />}
      </div>
    </article>
  );
}

export function FindingsView({ report }: { report: Report }) {
  const { focus } = useModel().settings;
  useEffect(() => {
    const wanted = focus === null ? null : document.getElementById(`at-${focus}`);
    wanted?.scrollIntoView({ block: 'start' });
    wanted?.focus({ preventScroll: true });
  }, [focus]);
  const pool = poolOf(report);
  const gauge = gaugeOf(pool, reach(report.findings));
  const check = report.findings.flatMap((f) => f.fixes).find((fix) => fix.check !== null)?.check ?? undefined;
  return (
    <section aria-labelledby="findings-title">
      <h1 class="title" id="findings-title">
        Findings
      </h1>
      <p class="lede">
        {pool !== null && (
          <>
            Every need is drawn on one scale, with what stays alive beside it
            {gauge.capacity !== null &&
              `, against the pool of ${size(gauge.capacity)}: what lies left of the line fits${report.findings.some((f) => f.fixes.some((x) => x.fits_after === 'yes' && (mostAfter(x) ?? 0) > (gauge.capacity ?? Number.POSITIVE_INFINITY))) ? ', unless it brings a larger pool' : ''}`}
            .
          </>
        )}
      </p>
      <div class="on-scale">
        <GaugeLines gauge={gauge} />
        <div class="scale-head">
          <GaugeAxis gauge={gauge} />
        </div>
        {report.findings.map((f, i) => (
          <FindingRow
            key={`${f.id}-${i}`}
            finding={f}
            report={report}
            gauge={gauge}
            number={i}
            told={new Set(report.findings.slice(0, i).flatMap((above) => above.fixes.map(fixKey)))}
            full
          />
        ))}
      </div>
      {check !== undefined && (
        <>
          <p class="lede">What a fix really needs, before anything runs:</p>
          <Code text={check} label="Code that says what a fix really needs" />
        </>
      )}
    </section>
  );
}
