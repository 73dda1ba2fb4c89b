/** The view. */

import { render } from 'preact';
import type { Client } from '../client';
import { App } from './app';
import { setTheme, theme } from './lib/theme';
import { Model } from './model';

/** Takes over the page. The static shell stays visible until then. */
export function start(client: Client): void {
  const root = document.querySelector('#app');
  if (root === null) return;
  setTheme(theme());
  root.replaceChildren();
  render(<App model={new Model(client)} />, root);
}
