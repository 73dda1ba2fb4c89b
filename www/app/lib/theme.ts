/** Light or dark: the system's choice unless the reader made one, and the colours of it for what is drawn on canvas. */

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'oomscope-theme';

/** The reader's choice; `system` where there is none or nothing may be stored. */
export function theme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

function apply(to: Theme): void {
  if (to === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = to;
}

export function setTheme(to: Theme): void {
  apply(to);
  try {
    if (to === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, to);
  } catch {
    // A page from the disk may have no storage: the choice lasts as long as the page.
  }
  repaint();
}

const painters = new Set<() => void>();
const resolved = new Map<string, string>();

function repaint(): void {
  resolved.clear();
  for (const paint of painters) paint();
}

let printed = false;

/** Whether the page is being printed: on white, and as wide as a sheet. */
export const onPaper = (): boolean => printed;

/** Canvases are painted for paper before the browser lays it out: what is painted while it does is lost. */
function paper(on: boolean): void {
  printed = on;
  apply(on ? 'light' : theme());
  repaint();
}

/** Calls `paint` whenever the colours change; returns how to stop that. */
export function onRepaint(paint: () => void): () => void {
  if (painters.size === 0) {
    for (const query of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)'])
      matchMedia(query).onchange = () => printed || repaint();
    addEventListener('beforeprint', () => paper(true));
    addEventListener('afterprint', () => paper(false));
  }
  painters.add(paint);
  return () => painters.delete(paint);
}

const probe = document.createElement('i');

/** A custom property as a colour that a canvas takes. */
export function color(property: string): string {
  let value = resolved.get(property);
  if (value === undefined) {
    // Only a property that is used is resolved by the browser (`light-dark()` stays as it is in a custom one).
    if (!probe.isConnected) {
      probe.hidden = true;
      document.body.append(probe);
    }
    probe.style.color = `var(${property})`;
    value = getComputedStyle(probe).color;
    resolved.set(property, value);
  }
  return value;
}
