/**
 * Explanations on hover and focus, for everything with `data-tip`.
 *
 * One element for the whole page. It can be hovered itself and goes with Escape (WCAG 1.4.13). What it says is reachable
 * without it: by `aria-describedby`, or by showing sizes in bytes.
 */

import { useEffect, useRef } from 'preact/hooks';
import { plain } from '../lib/text';

export function Tip() {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const tip = element.current;
    if (tip === null) return;
    let owner: Element | null = null;
    let timer = 0;
    const hide = () => {
      clearTimeout(timer);
      owner = null;
      tip.hidden = true;
    };
    const show = (target: Element) => {
      clearTimeout(timer);
      owner = target;
      tip.textContent = plain(target.getAttribute('data-tip') ?? '', 400);
      tip.hidden = false;
      const at = target.getBoundingClientRect();
      const own = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, document.documentElement.clientWidth - own.width - 8))}px`;
      // Above what it explains, unless it would hide the tabs.
      const tabs = document.querySelector('nav.views')?.getBoundingClientRect().bottom ?? 0;
      const above = at.top - own.height - 6;
      tip.style.top = `${above < Math.max(4, tabs) ? Math.min(at.bottom + 6, innerHeight - own.height - 8) : above}px`;
    };
    const over = (event: Event) => {
      const target = event.target instanceof Element ? event.target : null;
      if (target === null || tip.contains(target)) {
        clearTimeout(timer);
        return;
      }
      const asking = target.closest('[data-tip]');
      if (asking !== null) show(asking);
      else if (owner !== null) {
        // A moment to reach the tip itself.
        clearTimeout(timer);
        timer = setTimeout(hide, 150) as unknown as number;
      }
    };
    const key = (event: KeyboardEvent) => {
      if (event.key === 'Escape') hide();
    };
    document.addEventListener('pointerover', over);
    document.addEventListener('focusin', over);
    document.addEventListener('keydown', key);
    document.addEventListener('scroll', hide, { passive: true, capture: true });
    return () => {
      document.removeEventListener('pointerover', over);
      document.removeEventListener('focusin', over);
      document.removeEventListener('keydown', key);
      document.removeEventListener('scroll', hide, { capture: true });
    };
  }, []);
  return <div ref={element} class="tip" aria-hidden="true" hidden />;
}
