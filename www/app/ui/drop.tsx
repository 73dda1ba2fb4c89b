/** Files and text dropped or pasted anywhere on the page. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { isCapture } from '../lib/beside';
import { chosen, dropped, pasted } from '../lib/files';
import { useModel } from './context';

/** Shorter texts are a slip, not the text of a failure. */
const LEAST_TEXT = 20;

type Side = 'open' | 'add';

export function DropTarget() {
  const model = useModel();
  const [over, setOver] = useState<Side | null>(null);
  const open = model.current?.capture;
  const joins = model.phase === 'done' && open != null && isCapture(open);
  const can = model.captures.length > 0 && model.phase === 'done';
  const canAdd = useRef(can);
  canAdd.current = can;
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    // Entering a child comes before leaving its parent: count them.
    let depth = 0;
    // What is dragged from the page itself is nothing to read.
    let own = false;
    const brings = (e: DragEvent) =>
      !own && (e.dataTransfer?.types.some((t) => t === 'Files' || t === 'text/plain') ?? false);
    const side = (e: DragEvent): Side => (canAdd.current && e.clientX > innerWidth / 2 ? 'add' : 'open');
    const leave = () => {
      depth = 0;
      setOver(null);
    };
    const enter = (e: DragEvent) => {
      if (!brings(e)) return;
      e.preventDefault();
      if (e.type === 'dragenter') depth++;
      if (e.dataTransfer !== null) e.dataTransfer.dropEffect = 'copy';
      setOver(side(e));
    };
    addEventListener('dragstart', () => (own = true), { signal });
    addEventListener('dragend', () => (own = false), { signal });
    addEventListener('dragenter', enter, { signal });
    addEventListener('dragover', enter, { signal });
    addEventListener(
      'dragleave',
      () => {
        depth--;
        if (depth <= 0) leave();
      },
      { signal },
    );
    addEventListener(
      'drop',
      (e) => {
        leave();
        if (e.dataTransfer === null || !brings(e)) return;
        e.preventDefault();
        const add = side(e) === 'add';
        const text = e.dataTransfer.getData('text/plain');
        dropped(e.dataTransfer).then((inputs) =>
          model.take(inputs.length === 0 && text !== '' ? [pasted(text)] : inputs, add),
        );
      },
      { signal },
    );
    addEventListener(
      'paste',
      (e) => {
        if (e.target instanceof Element && e.target.closest('input, textarea, [contenteditable]') !== null) return;
        const inputs = chosen(e.clipboardData?.files ?? null);
        const text = (e.clipboardData?.getData('text/plain') ?? '').trim();
        if (inputs.length > 0) model.take(inputs, canAdd.current);
        else if (text.length > LEAST_TEXT) model.take([pasted(text)], canAdd.current);
        else if (text !== '') model.say('That is too little text to be the message of a failure.');
      },
      { signal },
    );
    return () => stop.abort();
  }, []);
  if (over === null) return null;
  return (
    <div class="drop-over" aria-hidden="true">
      <div class={over === 'open' ? 'on' : ''}>
        <b>Drop to read</b>
        {can && <span>instead of what is open</span>}
      </div>
      {can && (
        <div class={over === 'add' ? 'on' : ''}>
          <b>Drop to add</b>
          <span>and compare</span>
        </div>
      )}
      {joins && <p>The text of an error or a memory.prof joins the open capture, wherever you drop it.</p>}
    </div>
  );
}
