/** While files are read, and where none could be. */

import type { Item } from '../../client';
import { plain } from '../lib/text';
import { size } from '../lib/units';
import { Name, Prose } from '../ui/basic';
import { Chooser } from '../ui/choosers';
import { useModel } from '../ui/context';

const STATE: Readonly<Record<Item['state'], string>> = {
  waiting: 'waiting',
  reading: 'reading',
  done: 'read',
  error: 'failed',
  cancelled: 'cancelled',
};

/** How far an item is, from 0 to 1. */
const part = (i: Item): number =>
  i.state === 'done' || i.state === 'error' ? 1 : i.sizeBytes > 0 ? Math.min(1, i.doneBytes / i.sizeBytes) : 0;

export function ReadingView() {
  const model = useModel();
  const { items } = model;
  const bytes = items.reduce((n, i) => n + i.sizeBytes, 0);
  const done = items.reduce((n, i) => n + part(i) * i.sizeBytes, 0);
  const over = items.filter((i) => i.state === 'done' || i.state === 'error').length;
  return (
    <section class="progress" aria-labelledby="reading-title" aria-busy="true">
      <h1 id="reading-title">{items.length === 1 ? 'Reading' : `Reading ${items.length} files`}</h1>
      <div class="overall">
        <progress max={1} value={bytes > 0 ? done / bytes : 0} aria-label="Read so far" />
        <p>
          {size(done)} of {size(bytes)}
          {items.length > 1 && `, ${over} of ${items.length} files`}
        </p>
        <button type="button" class="button" onClick={() => model.cancel()}>
          Cancel
        </button>
      </div>
      <ItemList items={items} />
      <p class="soft">A new drop replaces these.</p>
    </section>
  );
}

export function ItemList({ items, onRemove }: { items: readonly Item[]; onRemove?: (item: Item) => void }) {
  return (
    <ol class="items">
      {items.slice(0, 500).map((i) => (
        <li key={i.id} class={`item item-${i.state}`}>
          <span class="item-name">
            <Name text={i.path || i.name} most={100} />
          </span>
          <span class="soft">{size(i.sizeBytes)}</span>
          <span class="item-state">{i.state === 'reading' ? `${Math.floor(part(i) * 100)} %` : STATE[i.state]}</span>
          {i.error !== null && (
            <p class="item-error">
              <Prose text={i.error} />{' '}
              {onRemove !== undefined && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove ${plain(i.path || i.name, 100)}`}
                  onClick={() => onRemove(i)}
                >
                  Remove
                </button>
              )}
            </p>
          )}
          {i.state === 'reading' && <i class="item-bar" style={{ width: `${part(i) * 100}%` }} aria-hidden="true" />}
        </li>
      ))}
    </ol>
  );
}

export function ErrorView() {
  const model = useModel();
  const failed = model.items.filter((i) => i.error !== null);
  return (
    <section class="progress" aria-labelledby="error-title">
      <h1 id="error-title">
        {failed.length === 1 ? 'This file could not be read' : `None of ${failed.length} files could be read`}
      </h1>
      <ItemList items={model.items} />
      <p class="buttons">
        <Chooser label="Choose captures" class="button primary" />
        <Chooser label="Choose a folder" folder />
        <button type="button" class="button" onClick={() => model.close()}>
          Back to the start
        </button>
      </p>
    </section>
  );
}
