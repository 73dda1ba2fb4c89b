/** The foot of the page: which version this is, where the newest lives, and a way to see that it works. */

import { useState } from 'preact/hooks';
import type { SelfTestCheck } from '../../client';
import { sentence } from '../model';
import { useModel } from '../ui/context';

export function Footer() {
  const model = useModel();
  const { home } = model.client;
  const [checks, setChecks] = useState<readonly SelfTestCheck[] | 'running' | null>(null);
  const passed = Array.isArray(checks) ? checks.filter((c) => c.passed).length : 0;
  return (
    <footer class="foot">
      <span>oomscope {model.client.version}</span>
      {home === null ? (
        <span>A saved copy of this page stays as it is: newer versions are where you got it from.</span>
      ) : (
        <a href={home} rel="noreferrer">
          Newest version and documentation
        </a>
      )}
      <span>Nothing leaves this machine: the page may not connect to anything.</span>
      <button
        type="button"
        class="quiet"
        disabled={checks === 'running'}
        onClick={() => {
          setChecks('running');
          model.client.selfTest().then(setChecks, (error) => {
            setChecks(null);
            model.say(sentence(error));
          });
        }}
      >
        Self-test
      </button>
      <span role="status">
        {checks === 'running'
          ? 'reading synthetic captures …'
          : Array.isArray(checks)
            ? `${passed} of ${checks.length} checks passed`
            : ''}
      </span>
      {Array.isArray(checks) && (
        <ul class="plain-list">
          {checks.map((c: SelfTestCheck) => (
            <li key={c.name}>
              <b>{c.passed ? 'passed' : 'FAILED'}</b> {c.name}
              {c.detail !== '' && <span class="soft"> {c.detail}</span>}
            </li>
          ))}
        </ul>
      )}
    </footer>
  );
}
