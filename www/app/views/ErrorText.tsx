/** The text of a failure: what it asked for, what was free, the plan it prints, and what of a capture it is. */

import type {
  ErrorTextReport,
  Failure,
  FailureKind,
  PlanText,
  PoolDump,
  Report,
  TextBuffer,
  TextMatch,
  TextSize,
} from '../../generated/report';
import { ROLE } from '../lib/palette';
import { plain } from '../lib/text';
import { count, exactSize, plural, size } from '../lib/units';
import { Keyed, Name, Prose, Size, Source, Tag, Unknown } from '../ui/basic';
import { useModel } from '../ui/context';
import { type Column, DataTable } from '../ui/table';
import { BesideNote } from './Beside';
import { Shape } from './Buffers';

/** What ran out. */
export const KIND: Readonly<Record<FailureKind, string>> = {
  device_pool: "the device's pool, at run time",
  device_pool_optional: "the device's pool, by a caller that goes on without",
  host_pool: 'the pool of pinned host memory',
  collective_pool: 'the pool for collectives',
  compile_device: "the device's memory, when the program was compiled",
  compile_vmem: 'memory inside the chip (VMEM), when the program was compiled',
  kernel_shared_memory: 'shared memory of a kernel: a limit of the chip, not of the device memory',
  library: 'a library outside the pool',
  collectives: 'collectives, outside the pool',
  graphs: 'CUDA graphs, outside the pool',
  driver: 'the driver',
  host: 'memory of the host',
  py_torch: "PyTorch's own allocator",
  unknown: 'memory, in a form that is not known',
};

/** A size out of a text: to the byte where it has it so, else about. */
export function SizeOfText({ of }: { of: TextSize | null }) {
  if (of === null) return <Unknown />;
  if (of.least_bytes === of.most_bytes) return <Size bytes={of.least_bytes} />;
  return (
    <span class="size" data-tip={`from ${exactSize(of.least_bytes)} to ${exactSize(of.most_bytes)}: the text rounds`}>
      about {size((of.least_bytes + of.most_bytes) / 2)}
    </span>
  );
}

/** The failure that a report is about. */
export function mainFailure(text: ErrorTextReport | null): Failure | null {
  return text === null ? null : (text.failures[text.main ?? 0] ?? null);
}

export function FailureFacts({ of: f }: { of: Failure }) {
  return (
    <dl class="facts">
      <dt>What ran out</dt>
      <dd>{KIND[f.kind]}</dd>
      <dt>Asked for</dt>
      <dd>
        <SizeOfText of={f.requested} />
        {f.rounded_bytes !== null && (
          <span class="soft">
            , rounded up to <Size bytes={f.rounded_bytes} />
          </span>
        )}
      </dd>
      <dt>Free</dt>
      <dd>
        <SizeOfText of={f.free} />
      </dd>
      <dt>In all</dt>
      <dd>
        <SizeOfText of={f.limit} />
      </dd>
      {f.exceeded_by !== null && (
        <>
          <dt>Exceeded by</dt>
          <dd>
            <SizeOfText of={f.exceeded_by} />
          </dd>
        </>
      )}
      {f.allocator !== null && (
        <>
          <dt>Allocator</dt>
          <dd>
            <Name text={f.allocator} most={60} />
            {f.device !== null && ` of device ${f.device}`}
          </dd>
        </>
      )}
      {f.executable !== null && (
        <>
          <dt>Executable</dt>
          <dd>
            <Name text={f.executable} most={80} />
          </dd>
        </>
      )}
      {f.what !== null && (
        <>
          <dt>For</dt>
          <dd>
            <Name text={f.what} most={160} full />
          </dd>
        </>
      )}
      <dt>Where</dt>
      <dd>
        line {count(f.line)} of the text{f.count > 1 && `, ${plural(f.count, 'time')}`}
        {f.writers.length > 0 && <>, by {plain(f.writers.slice(0, 12).join(', '), 200)}</>}
        {f.error_code !== null && `, ${plain(f.error_code, 20)}`}
      </dd>
    </dl>
  );
}

const bufferColumns: readonly Column<TextBuffer>[] = [
  {
    id: 'size',
    head: 'Size',
    numeric: true,
    sort: (b) => b.size?.most_bytes ?? null,
    cell: (b) => <SizeOfText of={b.size} />,
  },
  {
    id: 'shape',
    head: 'Shape',
    sort: (b) => b.shape,
    cell: (b) => (b.shape === null ? <Unknown /> : <Shape text={b.shape} />),
  },
  {
    id: 'role',
    head: 'Role',
    sort: (b) => b.role,
    cell: (b) =>
      b.parameter ? 'parameter' : b.role === null ? <Unknown /> : <Keyed of={ROLE[b.role]}>{ROLE[b.role].label}</Keyed>,
  },
  {
    id: 'name',
    head: 'Name',
    sort: (b) => b.op_name,
    cell: (b) => <Name text={b.op_name ?? b.instruction ?? b.opcode ?? ''} most={80} />,
  },
  {
    id: 'source',
    head: 'Source',
    minor: true,
    sort: (b) => b.source?.file ?? null,
    cell: (b) => <Source at={b.source} />,
  },
];

function PlanOfText({ of, title }: { of: PlanText; title: string }) {
  const { totals } = of;
  const lines: [string, TextSize | null][] = [
    ['parameters', totals.parameter],
    ['constants', totals.constant],
    ['may be live out', totals.maybe_live_out],
    ['temp', totals.temp],
    ['packing loss of temp', totals.temp_fragmentation],
    ['all allocations', totals.total],
    ['packing loss of all', totals.total_fragmentation],
  ];
  const known = lines.filter(([, s]) => s !== null);
  return (
    <div class="stack">
      <h2>{title}</h2>
      {known.length > 0 && (
        <dl class="facts">
          {known.map(([label, s]) => (
            <>
              <dt>{label}</dt>
              <dd>
                <SizeOfText of={s} />
              </dd>
            </>
          ))}
        </dl>
      )}
      {of.usage.length > 0 && (
        <dl class="facts">
          {of.usage.map((u) => (
            <>
              <dt>
                {plain(u.of, 60)}: {plain(u.name, 80)}
              </dt>
              <dd>
                <SizeOfText of={u.size} />
              </dd>
            </>
          ))}
        </dl>
      )}
      {of.buffers.length > 0 && (
        <DataTable
          caption="Buffers that the text lists"
          columns={bufferColumns}
          rows={of.buffers}
          rowKey={(b) => String(of.buffers.indexOf(b))}
          sortBy="size"
          page={60}
        />
      )}
    </div>
  );
}

function Pool({ of: p }: { of: PoolDump }) {
  return (
    <div>
      <h2>{p.allocator === null ? 'The allocator' : <Name text={p.allocator} most={60} />} says of itself</h2>
      <dl class="facts">
        <dt>Limit</dt>
        <dd>
          <Size bytes={p.limit_bytes} />
        </dd>
        <dt>In use</dt>
        <dd>
          <Size bytes={p.in_use_bytes} />, at most <Size bytes={p.peak_in_use_bytes} /> since the process started
        </dd>
        <dt>Largest free chunk</dt>
        <dd>
          <SizeOfText of={p.largest_free} />
        </dd>
        <dt>Largest allocation so far</dt>
        <dd>
          <Size bytes={p.largest_allocation_bytes} />
        </dd>
        {p.in_use.length > 0 && (
          <>
            <dt>Chunks in use</dt>
            <dd>
              {p.in_use.slice(0, 30).map((c) => (
                <span class="listed" key={c.bytes}>
                  <Size bytes={c.bytes} /> ×{count(c.count)}
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

/** What of the capture the failure is. */
function Matched({ of: m }: { of: TextMatch }) {
  const model = useModel();
  return (
    <div class="note stack">
      <p class="matched">
        <Prose text={m.sentence} />
      </p>
      {m.request.length > 0 && (
        <ul class="plain-list">
          {m.request.map((r) => (
            <li key={`${r.module} ${r.allocation}`}>
              <b>{plain(r.what, 120)}</b> <Size bytes={r.bytes} />{' '}
              <a href={model.link({ view: 'plan', module: r.module, event: null, focus: null })}>
                in the plan of {plain(r.module, 80)}
              </a>
            </li>
          ))}
        </ul>
      )}
      {m.differences.length > 0 && (
        <table class="numbers">
          <caption>Where text and plan differ</caption>
          <thead>
            <tr>
              <th scope="col">Total</th>
              <th scope="col" class="number">
                The text
              </th>
              <th scope="col" class="number">
                The plan
              </th>
            </tr>
          </thead>
          <tbody>
            {m.differences.map((d) => (
              <tr key={d.what}>
                <th scope="row">{plain(d.what, 80)}</th>
                <td class="number">
                  <SizeOfText of={d.text} />
                </td>
                <td class="number">
                  <Size bytes={d.plan_bytes} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

export function ErrorTextView({ report }: { report: Report }) {
  const { error_text: text, text_plan: plan } = report;
  return (
    <section aria-labelledby="text-title" class="stack">
      <div class="view-head">
        <h1 class="title" id="text-title">
          {text === null ? 'The plan in the text' : 'The text of the failure'}
        </h1>
        <p>
          <Tag evidence="read" />
        </p>
      </div>
      <BesideNote kind="text" />
      {text?.matched && <Matched of={text.matched} />}
      {text?.failures.map((f, i) => (
        <div key={i} class="stack">
          {text.failures.length > 1 && <h2>Failure {i + 1}</h2>}
          <FailureFacts of={f} />
          {f.plan !== null && <PlanOfText of={f.plan} title="The plan that it prints" />}
        </div>
      ))}
      {text?.pools.map((p, i) => (
        <Pool key={i} of={p} />
      ))}
      {text !== null && text.rematerialization.length > 0 && (
        <div>
          <h2>What XLA's rematerialization reached</h2>
          <ul class="plain-list">
            {text.rematerialization.map((r) => (
              <li key={r.line}>
                aimed at {r.target === null ? 'less than nothing' : <SizeOfText of={r.target} />}, reached{' '}
                <SizeOfText of={r.reached} />
                {r.original !== null && (
                  <>
                    {' '}
                    from <SizeOfText of={r.original} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </div>
      )}
      {plan !== null && <PlanOfText of={plan} title="Totals" />}
    </section>
  );
}
