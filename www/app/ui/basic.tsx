/** The small parts that every view is made of. */

import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Evidence, Severity, SourceLine } from '../../generated/report';
import { copy } from '../lib/files';
import { EVIDENCE, SEVERITY, type Swatch } from '../lib/palette';
import { cut, parts, plain, shortPath } from '../lib/text';
import { exactSize, signedSize, size } from '../lib/units';
import { ExactContext } from './context';
import { Scroll } from './scroll';

/** A size: GiB to read, the exact bytes on hover, or in its place when the reader asked for them. */
export function Size({ bytes, stop = false, like = 0 }: { bytes: number | null; stop?: boolean; like?: number }) {
  const exact = useContext(ExactContext);
  if (bytes === null) return <Unknown />;
  const full = exactSize(bytes);
  return (
    // A figure that stands out is a stop for the keyboard too; a column of them would be a hundred stops.
    <span
      class="size"
      data-tip={full}
      {...(stop ? { tabIndex: 0, role: 'note', 'aria-label': `${size(bytes)}, ${full}` } : {})}
    >
      {exact ? full : size(bytes, like)}
    </span>
  );
}

/** Sizes as words, where no element can stand. */
export function useSize(): (bytes: number, like?: number) => string {
  return useContext(ExactContext) ? exactSize : size;
}

/** A difference of sizes; less is better unless said otherwise. */
export function Difference({ bytes, better = -1 }: { bytes: number; better?: -1 | 0 | 1 }) {
  const exact = useContext(ExactContext);
  const full = `${bytes > 0 ? '+' : bytes < 0 ? '−' : '±'}${exactSize(Math.abs(bytes))}`;
  return (
    <span
      class={`size ${bytes === 0 || better === 0 ? '' : bytes > 0 === better > 0 ? 'better' : 'worse'}`}
      data-tip={full}
    >
      {exact ? full : signedSize(bytes)}
    </span>
  );
}

/** What the capture doesn't say. */
export function Unknown({ why = 'not in the capture' }: { why?: string }) {
  return (
    <span class="unknown" title={why}>
      <span aria-hidden="true">–</span>
      <span class="offscreen">{why}</span>
    </span>
  );
}

/** How a number is known; says what that means on hover and focus. */
export function Tag({ evidence }: { evidence: Evidence }) {
  return (
    <button
      type="button"
      class={`tag tag-${evidence}`}
      data-tip={EVIDENCE[evidence]}
      aria-describedby={`evidence-${evidence}`}
    >
      {evidence}
    </button>
  );
}

/** The sentences that the tags point to. */
export function TagDescriptions() {
  return (
    <div hidden>
      {(Object.keys(EVIDENCE) as Evidence[]).map((e) => (
        <span id={`evidence-${e}`}>{EVIDENCE[e]}</span>
      ))}
    </div>
  );
}

export function SeverityMark({ severity }: { severity: Severity }) {
  return <span class={`severity severity-${severity}`}>{SEVERITY[severity]}</span>;
}

/** Text from a capture: signs in place of what cannot be seen, and its own direction kept to itself. */
export function Text({ text }: { text: string }) {
  return (
    <bdi>
      {parts(text).map((p) =>
        p.code === null ? (
          // An arrow stays in one piece.
          p.text.split('->').flatMap((t, i) => (i > 0 ? [<span class="unbroken">{'->'}</span>, t] : [t]))
        ) : (
          <span class="unseen" title={p.code}>
            {p.text}
          </span>
        ),
      )}
    </bdi>
  );
}

/** A name from a capture, cut in the middle where it is long; `full` adds a button that shows all of it. */
export function Name({ text, most = 90, full = false }: { text: string; most?: number; full?: boolean }) {
  const [open, setOpen] = useState(false);
  if (text.length <= most) {
    return (
      <span class={text.length <= 26 ? 'name short' : 'name'}>
        <Text text={text} />
      </span>
    );
  }
  if (!full) {
    return (
      <span class="name" title={plain(text, 1000)}>
        <Text text={cut(text, most)} />
      </span>
    );
  }
  return (
    <span class={open ? 'name open' : 'name'}>
      {open ? (
        <Scroll class="whole" label="The whole name">
          <Text text={text} />
        </Scroll>
      ) : (
        <Text text={cut(text, most)} />
      )}{' '}
      <button type="button" class="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'shorten' : `all ${text.length.toLocaleString('en-US')} characters`}
      </button>
    </span>
  );
}

/**
 * Sentences from the analysis, which carry names: what stands between backticks is code, and words too long to read are
 * cut, with the whole on demand.
 */
export function Prose({ text }: { text: string }) {
  const pieces: ComponentChildren[] = [];
  let from = 0;
  const plainly = (to: number) => {
    if (to > from) pieces.push(<Text text={text.slice(from, to)} />);
  };
  for (const m of text.matchAll(/`([^`]{1,200})`|\S{121,}/g)) {
    plainly(m.index);
    pieces.push(m[1] === undefined ? <Name text={m[0]} most={80} full /> : <Name text={m[1]} most={200} />);
    from = m.index + m[0].length;
  }
  plainly(text.length);
  return <>{pieces}</>;
}

/** A Python position: the last parts of the path to read, all of it on hover. */
export function Source({ at, long = false }: { at: SourceLine | null; long?: boolean }) {
  if (at === null) return <Unknown />;
  const line = at.line === null ? '' : `:${at.line}`;
  const whole = `${at.file}${line}${at.function === null ? '' : ` ${at.function}`}`;
  return (
    <span class="name" title={plain(whole, 1000)}>
      <Text text={cut(long ? at.file : shortPath(at.file), 120)} />
      {line}
      {at.function !== null && (
        <span class="soft">
          {' '}
          <Text text={cut(at.function, 80)} />
        </span>
      )}
    </span>
  );
}

/** The colour of something, always beside its label. */
export function Chip({ of }: { of: Swatch }) {
  return <i class={`chip fill-${of.key}${of.striped ? ' striped' : ''}`} aria-hidden="true" />;
}

export function Keyed({ of, children }: { of: Swatch; children?: ComponentChildren }) {
  return (
    <span class="keyed" data-tip={of.help}>
      <Chip of={of} />
      {children ?? of.label}
    </span>
  );
}

/** Copies a text, and says so. The text can take a while to be made. */
export function CopyButton({
  text,
  children,
  class: kind = 'quiet',
}: {
  text: string | (() => Promise<string>);
  children: ComponentChildren;
  class?: string;
}) {
  const [done, setDone] = useState<string | null>(null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const act = async () => {
    let said: string;
    try {
      said = (await copy(typeof text === 'string' ? text : await text()))
        ? 'Copied'
        : 'The browser refused: select and copy by hand';
    } catch (error) {
      said = error instanceof Error ? error.message : 'That did not work';
    }
    setDone(said);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(null), 2500) as unknown as number;
  };
  return (
    <span class="copies">
      <button type="button" class={kind} onClick={act}>
        {children}
      </button>
      <span class="said" role="status">
        {done}
      </span>
    </span>
  );
}

/** Code with a button that copies it. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <Scroll label={label}>
        <pre>
          <code>
            {text.split('\n').map((line) => (
              <>
                <Text text={line} />
                {'\n'}
              </>
            ))}
          </code>
        </pre>
      </Scroll>
      <CopyButton text={text}>Copy</CopyButton>
    </div>
  );
}
