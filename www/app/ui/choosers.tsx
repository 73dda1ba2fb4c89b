/** Ways to bring files: buttons that are file inputs, so that they work by mouse, keyboard and script alike. */

import type { ComponentChildren } from 'preact';
import { chosen } from '../lib/files';
import { useModel } from './context';

interface Props {
  readonly label: string;
  readonly folder?: boolean;
  readonly add?: boolean;
  readonly class?: string;
  readonly children?: ComponentChildren;
}

/** A file chooser named by `label`; `children` is what is seen, and must say the same. */
export function Chooser({ label, folder = false, add = false, class: kind = 'button', children }: Props) {
  const model = useModel();
  return (
    <label class={`chooser ${kind}`}>
      <input
        type="file"
        multiple
        aria-label={label}
        {...(folder ? { webkitdirectory: true } : {})}
        onChange={(e) => {
          const input = e.currentTarget;
          const files = chosen(input.files);
          // The same file can be chosen again.
          input.value = '';
          if (files.length > 0) model.take(files, add);
        }}
      />
      <span aria-hidden="true">{children ?? label}</span>
    </label>
  );
}

/** The mark: a bar that does not fit between its jaws. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 30 18" width="30" height="18" aria-hidden="true">
      <path class="mark-bar" d="M3 6h18v6H3z" />
      <path class="mark-over" d="M22.5 6H29v6h-6.500z" />
      <path class="mark-jaws" d="M2 1v16M21.800 1v16M2 1.700h3M2 16.300h3M21.800 1.700h-3M21.800 16.300h-3" />
    </svg>
  );
}
