/** The view. */

import type { Client, Item } from '../client';

/** Takes over the page. The static shell stays visible until then. */
export function start(client: Client): void {
  const root = document.documentElement;
  const chooser = document.querySelector<HTMLInputElement>('#files');
  const out = document.querySelector<HTMLElement>('#report');
  if (!chooser || !out) return;
  const show = (item: Item) => {
    root.dataset.state = item.state === 'waiting' || item.state === 'cancelled' ? 'reading' : item.state;
    out.textContent = item.error ?? item.capture?.report.verdict.sentence ?? `${item.doneBytes} of ${item.sizeBytes}`;
  };
  chooser.addEventListener('change', () => {
    root.dataset.state = 'reading';
    const files = Array.from(chooser.files ?? []);
    client.open(
      files.map((blob) => ({ blob, name: blob.name, path: blob.name })),
      { item: show },
    );
  });
}
