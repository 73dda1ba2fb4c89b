/** What is larger than its place scrolls by itself, by keyboard too. */

import type { ComponentChildren } from 'preact';

export function Scroll({
  label,
  class: kind = 'scroll',
  children,
}: {
  label: string;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it nobody could scroll there by keyboard
    <section class={kind} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
