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
    // A group: as a region it would be a landmark, and a report has many.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it nobody could scroll there by keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is no set of form fields
    <div class={kind} tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
