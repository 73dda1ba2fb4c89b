/** Before there is a capture: what this is, how to bring one, how to take one, how to try without. */

import { useState } from 'preact/hooks';
import { pasted } from '../lib/files';
import { cut, plain } from '../lib/text';
import { Code } from '../ui/basic';
import { Chooser } from '../ui/choosers';
import { useModel } from '../ui/context';

const SNIPPET = `import jax

# Written even when a step raises.
with jax.profiler.trace("/tmp/profile"):
    for batch in batches[:5]:
        state = step(state, batch)
    jax.block_until_ready(state)`;

/** Where the capture lies afterwards. */
const WHERE = '/tmp/profile/plugins/profile/<time>/<host>.xplane.pb';

export function EmptyView() {
  const model = useModel();
  const open = model.captures.length > 0;
  const waits = !open && (model.settings.module !== null || model.settings.view !== 'summary');
  return (
    <section class="empty" aria-labelledby="what">
      <div class="hero">
        <div>
          <h1 id="what">Why did JAX run out of memory?</h1>
          <p class="lede">
            Open a profiler capture and read what failed, who held the memory, and what each fix would save, every
            number with how it is known.
          </p>
          {open && (
            <p class="buttons">
              <button type="button" class="button" onClick={() => history.forward()}>
                Back to what is open
              </button>
            </p>
          )}
          {waits && (
            <p class="note">
              This link asks for{' '}
              {model.settings.module !== null && <>module {plain(cut(model.settings.module, 80))}, </>}view “
              {model.settings.view}”. It opens there as soon as you bring the capture: a link never carries one.
            </p>
          )}
          <div class="drop">
            <p>
              <b>Drop a capture anywhere on this page</b>
              <span class="soft">one .xplane.pb or many, a run folder, .gz, .zip, .tar.gz, HLO dumps, memory.prof</span>
            </p>
            <p class="buttons">
              <Chooser label="Choose captures" class="button primary" />
              <Chooser label="Choose a folder" folder />
            </p>
            <PasteBox />
          </div>
          <p class="privacy">
            <b>Your capture stays on this machine.</b> This page is one file and its own policy forbids every
            connection: look for <code>connect-src 'none'</code> in its source, watch the network tab while you drop a
            file, or unplug the network first.
          </p>
        </div>
        <Specimen />
      </div>
      <div class="two">
        <section aria-labelledby="samples">
          <h2 id="samples">No capture at hand</h2>
          <p class="soft">Synthetic captures: this program made up both the plan and the run of each.</p>
          <ul class="samples">
            {model.samples.slice(0, 3).map((s) => (
              <li key={s.id}>
                <button type="button" class="sample" onClick={() => model.sample(s.id)}>
                  {s.title}
                </button>
              </li>
            ))}
          </ul>
        </section>
        <section aria-labelledby="take">
          <h2 id="take">Take a capture</h2>
          <Code text={SNIPPET} label="Python that takes a capture" />
          <p class="soft">
            The file is <code>{WHERE}</code>. Start before the first step where you can: what was allocated earlier has
            no name in a capture.
          </p>
        </section>
      </div>
    </section>
  );
}

/** A box for the text of a failure. Pasting anywhere else on the page works too. */
function PasteBox() {
  const model = useModel();
  const [text, setText] = useState('');
  return (
    <details class="paste">
      <summary>Paste the error text instead</summary>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (text.trim() !== '') model.take([pasted(text)]);
        }}
      >
        <label for="error-text">
          RESOURCE_EXHAUSTED message, with or without its buffer dump; log prefixes may stay in
        </label>
        <textarea
          id="error-text"
          rows={5}
          spellcheck={false}
          value={text}
          onInput={(e) => setText(e.currentTarget.value)}
        />
        <button type="submit" class="button" disabled={text.trim() === ''}>
          Read the text
        </button>
      </form>
    </details>
  );
}

/** What a report looks like, as a drawing. */
function Specimen() {
  return (
    <figure class="specimen">
      <svg viewBox="0 0 420 230" aria-hidden="true">
        {[0, 1, 2, 3, 4, 5, 6, 7].map((i) => (
          <path class="s-grid" d={`M${20.5 + i * 50} 20v196`} />
        ))}
        <rect class="s-beyond" x="300.500" y="20" width="106" height="196" />
        <text class="s-label" x="296" y="14" text-anchor="end">
          pool
        </text>
        <rect class="fill-parameters" x="20" y="36" width="44" height="34" />
        <rect class="fill-live" x="65" y="36" width="22" height="34" />
        <rect class="fill-forward" x="88" y="36" width="222" height="34" />
        <rect class="fill-backward" x="311" y="36" width="62" height="34" />
        <path class="s-over" d="M300.500 30h72v46h-72z" />
        <path class="s-jaw" d="M20.500 24v192M300.500 24v192M20.500 24h7M300.500 24h-7" />
        <path class="s-whisker s-no" d="M308 112h62M308 106v12M370 106v12" />
        <path class="s-whisker s-yes" d="M150 152h96M150 146v12M246 146v12" />
        <path class="s-whisker s-maybe" d="M210 192h110M210 186v12M320 186v12" />
        <text class="s-label" x="32" y="116">
          donated state
        </text>
        <text class="s-label" x="32" y="156">
          jax.checkpoint
        </text>
        <text class="s-label" x="32" y="196">
          half the batch
        </text>
      </svg>
    </figure>
  );
}
