/** What folders and archives held beside captures, and what it is. */

import { plural } from '../lib/units';
import { Name, Prose } from '../ui/basic';
import { useModel } from '../ui/context';

/** Rows shown at most. */
const MOST = 500;

export function PassedOverList() {
  const { passedOver } = useModel();
  if (passedOver.length === 0) return null;
  return (
    <details class="passed-over">
      <summary>{plural(passedOver.length, 'other file')} passed over</summary>
      <ul class="plain-list">
        {passedOver.slice(0, MOST).map((p) => (
          <li key={p.path}>
            <Name text={p.path} most={100} /> <Prose text={p.sentence} />
          </li>
        ))}
      </ul>
    </details>
  );
}
