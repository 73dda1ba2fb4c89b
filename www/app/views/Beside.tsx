/** What was put beside a capture: said where it is shown, with the ways to undo it. */

import type { BesideKind } from '../../client';
import { Name } from '../ui/basic';
import { useModel } from '../ui/context';

export function BesideNote({ kind }: { kind: BesideKind }) {
  const model = useModel();
  const capture = model.current?.capture;
  const beside = capture?.beside.find((b) => b.kind === kind);
  if (!capture || !beside) return null;
  return (
    <p class="beside">
      <span>
        <Name text={beside.input.name} most={60} /> is read as{' '}
        {kind === 'text' ? 'the error of' : 'a profile of the process of'} this capture.
      </span>
      <button type="button" class="quiet" onClick={() => model.takeAway(capture, beside, true)}>
        Open it by itself
      </button>
      <button type="button" class="quiet" onClick={() => model.takeAway(capture, beside, false)}>
        Take it away
      </button>
    </p>
  );
}
