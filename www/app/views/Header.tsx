/** The header of a report: which capture, which module; and what can be taken away. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Item } from '../../client';
import type { Report } from '../../generated/report';
import { download, labels } from '../lib/files';
import { analysed, deviceSpace } from '../lib/pool';
import { cut, fileName, plain } from '../lib/text';
import { setTheme, type Theme, theme } from '../lib/theme';
import { size } from '../lib/units';
import { sentence } from '../model';
import { CopyButton, Name } from '../ui/basic';
import { Choice } from '../ui/choice';
import { Chooser } from '../ui/choosers';
import { useModel } from '../ui/context';

export function CaptureBar({ report }: { report: Report }) {
  const model = useModel();
  const { captures } = model;
  const { source } = report;
  return (
    <div class="capture-bar">
      {captures.length > 1 ? (
        <Choice
          label="Capture"
          quiet
          options={labels(captures, 60)}
          at={captures.indexOf(model.current as Item)}
          onChoose={(file) => model.go({ file, module: null, event: null, at: null, allocator: null, focus: null })}
        />
      ) : (
        <span class="file">
          <Name text={source.file} most={48} />
        </span>
      )}
      {model.current?.capture && model.isSample(model.current.capture) && (
        <span class="severity severity-note">Synthetic sample</span>
      )}
      {report.modules.length > 0 && (
        <Choice
          label="Module"
          quiet
          options={report.modules.map((m) => `${plain(cut(m.name, 60))} · ${size(deviceSpace(m)?.need_bytes ?? 0)}`)}
          at={report.modules.findIndex((m) => m.name === (model.loading ?? report.module))}
          onChoose={(i) => model.go({ module: report.modules[i]?.name ?? null, event: null, focus: null })}
        />
      )}
      {model.loading !== null && (
        <span class="soft" role="status">
          reading the module …
        </span>
      )}
    </div>
  );
}

/** Report tools and page tools. */
export function PageTools() {
  const model = useModel();
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const elsewhere = ({ target }: Event) => {
      if (menu.current?.open && target instanceof Node && !menu.current.contains(target)) menu.current.open = false;
    };
    for (const event of ['pointerdown', 'focusin']) document.addEventListener(event, elsewhere);
    return () => {
      for (const event of ['pointerdown', 'focusin']) document.removeEventListener(event, elsewhere);
    };
  }, []);
  const { report, phase } = model;
  const capture = model.current?.capture ?? null;
  const here = phase === 'done' && report !== null && capture !== null;
  const module =
    report !== null && report.module !== capture?.report.module ? (analysed(report)?.name ?? undefined) : undefined;
  return (
    <div class="tools">
      {here && (
        <>
          <Chooser label="Choose captures" />
          <Chooser label="Add captures to compare" add>
            Add
          </Chooser>
          <button
            type="button"
            class="button"
            onClick={() =>
              capture.text('json', module).then(
                (json) => download(`${fileName(report.source.file)}.oomscope.json`, json, 'application/json'),
                (error) => model.say(sentence(error)),
              )
            }
          >
            Download JSON
          </button>
          <details
            ref={menu}
            class="menu"
            onKeyDown={(e) => {
              if (e.key !== 'Escape') return;
              e.currentTarget.open = false;
              e.currentTarget.querySelector('summary')?.focus();
            }}
          >
            <summary class="button">More</summary>
            <div class="menu-items">
              <Chooser label="Add error text or memory.prof" class="menu-item" />
              <CopyButton text={() => capture.text('markdown', module)} class="menu-item">
                Copy report as Markdown
              </CopyButton>
              <CopyButton text={() => capture.text('text', module)} class="menu-item">
                Copy report as plain text
              </CopyButton>
              <CopyButton text={() => Promise.resolve(location.href)} class="menu-item">
                Copy link to this view
              </CopyButton>
              <p class="soft">The link says which module, view and moment; the capture is not in it.</p>
              <button type="button" class="menu-item" onClick={() => print()}>
                Print
              </button>
              {model.items.length > 1 && (
                <button
                  type="button"
                  class="menu-item"
                  onClick={() => model.current !== null && model.closeOne(model.current)}
                >
                  Close this capture
                </button>
              )}
              <button type="button" class="menu-item" onClick={() => model.close()}>
                {model.items.length > 1 ? 'Close all' : 'Close the capture'}
              </button>
            </div>
          </details>
        </>
      )}
      <ThemeSwitch />
    </div>
  );
}

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const NAME: Readonly<Record<Theme, string>> = {
  system: 'Theme: as the system',
  light: 'Theme: light',
  dark: 'Theme: dark',
};

function ThemeSwitch() {
  const [now, set] = useState(theme);
  return (
    <button
      type="button"
      class="button quiet theme"
      aria-label={NAME[now]}
      data-tip={NAME[now]}
      onClick={() => {
        const next = NEXT[now];
        setTheme(next);
        set(next);
      }}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.250" fill="none" stroke="currentColor" stroke-width="1.500" />
        {now === 'system' && <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />}
        {now === 'dark' && <circle cx="8" cy="8" r="6" fill="currentColor" />}
      </svg>
    </button>
  );
}
