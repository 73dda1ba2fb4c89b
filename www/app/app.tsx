/** The frame around the views: header, navigation, drops and pastes from anywhere. */

import type { ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import type { Report } from '../generated/report';
import { sides } from './lib/compare';
import { findingsAt } from './lib/evidence';
import type { Settings, View } from './lib/route';
import { cut, plain } from './lib/text';
import { type Model, sentence } from './model';
import { Prose, TagDescriptions } from './ui/basic';
import { Mark } from './ui/choosers';
import { ExactContext, ModelContext, useModel } from './ui/context';
import { DropTarget } from './ui/drop';
import { Tip } from './ui/tip';
import { CaptureView } from './views/CaptureInfo';
import { CompareView } from './views/Compare';
import { EmptyView } from './views/Empty';
import { ErrorTextView } from './views/ErrorText';
import { FilesView } from './views/Files';
import { FindingsView } from './views/Findings';
import { Footer } from './views/Footer';
import { CaptureBar, PageTools } from './views/Header';
import { PlanView } from './views/Plan';
import { ProfileView } from './views/Profile';
import { ErrorView, ReadingView } from './views/Reading';
import { RunView } from './views/Run';
import { SummaryView } from './views/Summary';
import { WhatIfView } from './views/WhatIf';

export function App({ model }: { model: Model }) {
  const [, render] = useReducer((n: number) => n + 1, 0);
  // Before the first frame, so that nothing said in between is missed.
  useLayoutEffect(() => model.subscribe(() => render(undefined)), [model]);
  const { phase, settings, report } = model;
  const main = useRef<HTMLElement>(null);

  const spot = `${phase} ${settings.view} ${settings.file} ${settings.module}`;
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const { returned } = model;
    if (returned !== null) {
      // Back where one came from, on the link that led away.
      scrollTo(0, returned.y);
      (main.current?.querySelectorAll('a')[returned.link] ?? main.current)?.focus({ preventScroll: true });
      return;
    }
    if (settings.focus === null) scrollTo(0, 0);
    // Whoever goes by keyboard starts at the top of the new view.
    if (
      settings.focus === null &&
      !(document.activeElement instanceof HTMLElement && document.activeElement.closest('header, nav'))
    )
      main.current?.focus({ preventScroll: true });
  }, [spot]);
  useEffect(() => {
    document.title = phase === 'done' && report !== null ? `${plain(report.source.file, 60)} · oomscope` : 'oomscope';
  });

  return (
    <ModelContext.Provider value={model}>
      <ExactContext.Provider value={model.exact}>
        <button type="button" class="skip" onClick={() => main.current?.focus()}>
          Skip to the content
        </button>
        <header class="top">
          <a class="brand" href={model.link({ view: 'summary', focus: null })}>
            <Mark />
            <span>oomscope</span>
          </a>
          {phase === 'done' && report !== null && <CaptureBar report={report} />}
          <PageTools />
        </header>
        {phase === 'done' && report !== null && <Navigation report={report} />}
        <main id="content" ref={main} tabIndex={-1}>
          {phase === 'empty' && <EmptyView />}
          {phase === 'reading' && <ReadingView />}
          {phase === 'error' && <ErrorView />}
          {phase === 'done' && report !== null && <Content report={report} />}
        </main>
        <Footer />
        <p class="offscreen" role="status" aria-live="polite" key="live">
          {plain(cut(model.notice.text, 400))}
        </p>
        <DropTarget />
        <TagDescriptions />
        <p id="chart-keys" hidden>
          Arrow keys move the moment, with Shift they move the window. Plus and minus zoom, 0 shows everything, P goes
          to the peak, Home and End to the ends.
        </p>
        <Tip />
      </ExactContext.Provider>
    </ModelContext.Provider>
  );
}

function Content({ report }: { report: Report }) {
  const model = useModel();
  const { focus } = model.settings;
  const view = viewOf(model, report);
  const absent =
    view === model.settings.view
      ? null
      : `There is nothing for the view “${model.settings.view}” in what is open, so this is its summary.`;
  const reasons = view === 'findings' || view === 'summary' ? [] : findingsAt(focus, report);
  return (
    <div class={model.loading === null ? 'view' : 'view stale'} aria-busy={model.loading !== null}>
      {[model.refused, model.trouble, absent].map(
        (why) =>
          why !== null && (
            <p class="note trouble">
              <Prose text={why} />
            </p>
          ),
      )}
      {reasons.length > 0 && (
        <p class="note evidence">
          Evidence of{' '}
          {reasons.map((f, i) => (
            <>
              {i > 0 && ', '}
              <a href={model.link({ view: 'findings', focus: `finding.${report.findings.indexOf(f)}` })}>
                <Prose text={f.title} />
              </a>
            </>
          ))}
        </p>
      )}
      <Guard key={`${view} ${model.settings.file} ${report.module}`}>
        <TheView view={view} report={report} />
      </Guard>
    </div>
  );
}

/** A fault of one view takes neither the others with it nor what can be saved. */
function Guard({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((e) => console.error(e));
  if (error === undefined) return <>{children}</>;
  return (
    <p class="note trouble">
      This view stopped at a fault of its own: <Prose text={sentence(error)} />. The other views, the texts and the JSON
      are not affected; please report it.
    </p>
  );
}

function TheView({ view, report }: { view: View; report: Report }) {
  const capture = useModel().current?.capture ?? null;
  switch (view) {
    case 'findings':
      return <FindingsView report={report} />;
    case 'plan':
      return capture === null ? null : <PlanView report={report} capture={capture} />;
    case 'run':
      return capture === null ? null : <RunView report={report} capture={capture} />;
    case 'whatif':
      return capture === null ? null : <WhatIfView report={report} capture={capture} />;
    case 'text':
      return <ErrorTextView report={report} />;
    case 'profile':
      return <ProfileView report={report} />;
    case 'capture':
      return <CaptureView report={report} />;
    case 'files':
      return <FilesView />;
    case 'compare':
      return <CompareView report={report} />;
    default:
      return <SummaryView report={report} />;
  }
}

/** The comparison of the capture shown; of the first with the one after it. */
function comparison(model: Model): Partial<Settings> {
  const { settings } = model;
  const both = sides(settings, model.comparable);
  const moved = both === null || both.after === settings.file ? {} : { file: both.after, module: null };
  return { view: 'compare', focus: null, before: both?.before ?? null, ...moved };
}

/** The view asked for, where there is one of this report; else the summary. */
function viewOf(model: Model, report: Report): View {
  const { view } = model.settings;
  return viewsOf(model, report).some(([v]) => v === view) ? view : 'summary';
}

/** The views that a report has, with what each is called and how much is in it. */
function viewsOf(model: Model, report: Report): [View, string, string | null][] {
  const several = model.items.length > 1;
  const grave = report.findings.filter((f) => f.severity === 'error' || f.severity === 'warning').length;
  const views: [View, string, string | null][] = [['summary', 'Summary', null]];
  if (report.findings.length > 0) views.push(['findings', 'Findings', grave > 0 ? String(grave) : null]);
  if (report.findings.some((f) => f.fixes.some((x) => x.need_after_most_bytes !== null)))
    views.push(['whatif', 'What if', null]);
  if (report.plan !== null) views.push(['plan', 'Plan', null]);
  if (report.allocators.length > 0 || report.executions.length > 0) views.push(['run', 'Run', null]);
  if (report.error_text !== null || report.text_plan !== null) views.push(['text', 'Text', null]);
  if (report.memory_profile !== null) views.push(['profile', 'Profile', null]);
  views.push(['capture', 'Capture', report.warnings.length > 0 ? String(report.warnings.length) : null]);
  if (several) views.push(['files', 'Files', String(model.items.length)]);
  if (model.comparable.length > 1) views.push(['compare', 'Compare', null]);
  return views;
}

function Navigation({ report }: { report: Report }) {
  const model = useModel();
  const here = viewOf(model, report);
  return (
    <nav class="views" aria-label="Views">
      <ul>
        {viewsOf(model, report).map(([view, label, n]) => (
          <li key={view}>
            <a
              href={model.link(view === 'compare' ? comparison(model) : { view, focus: null })}
              aria-current={here === view ? 'page' : undefined}
            >
              {label}
              {n !== null && <span class="badge">{n}</span>}
            </a>
          </li>
        ))}
      </ul>
      <label class="switch">
        <input type="checkbox" checked={model.exact} onChange={(e) => model.showExact(e.currentTarget.checked)} /> exact
        bytes
      </label>
    </nav>
  );
}
