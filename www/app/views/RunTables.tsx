/** The run's tables: executions, waits, what was live at the last start, what ran between executions. */

import { useMemo } from 'preact/hooks';
import type {
  Execution,
  HostEvents,
  LiveGroup,
  Omitted,
  OpSum,
  OpByOp as Ops,
  Report,
  Retry,
} from '../../generated/report';
import { OWNER } from '../lib/palette';
import { count } from '../lib/units';
import { Keyed, Name, Size, Tag, Unknown } from '../ui/basic';
import { useModel } from '../ui/context';
import { type Column, counts, DataTable, durations, names, sizes } from '../ui/table';

type Numbered<T> = { readonly row: T; readonly index: number };

const OUTCOME = { ran: 'ran', failed: 'failed', unknown: 'not said', rescued: 'rescued' } as const;

/** Unknown where no event of an allocator says it. */
const askedFor = (e: Execution): number | null =>
  e.in_use_start_bytes === null && e.requested_bytes.length === 0 ? null : e.requested_bytes.reduce((n, b) => n + b, 0);

const executionColumns: readonly Column<Numbered<Execution>>[] = [
  durations('start', 'Start', (x) => x.row.start_ps),
  names('module', 'Module', (x) => x.row.module, 50),
  counts('number', 'No.', (x) => x.row.number, {
    help: 'Its number among those of this module on this device, from 0.',
  }),
  {
    id: 'device',
    head: 'Device',
    numeric: true,
    minor: true,
    sort: (x) => x.row.device,
    cell: (x) => x.row.device ?? <Unknown />,
  },
  durations('duration', 'Call took', (x) => x.row.duration_ps),
  sizes('in_use', 'In use at start', (x) => x.row.in_use_start_bytes),
  sizes('asked', 'Obtained', (x) => askedFor(x.row), {
    minor: true,
    help: 'What it asked the allocator for and got; what was refused stands under the waits.',
  }),
  {
    id: 'kernels',
    head: 'Kernels',
    numeric: true,
    minor: true,
    sort: (x) => x.row.kernels,
    cell: (x) => (x.row.kernels === null ? <Unknown /> : count(x.row.kernels)),
  },
  {
    id: 'flight',
    head: 'In flight',
    numeric: true,
    minor: true,
    sort: (x) => x.row.in_flight,
    cell: (x) => (x.row.in_flight === null ? <Unknown /> : count(x.row.in_flight)),
  },
  {
    id: 'outcome',
    head: 'Outcome',
    sort: (x) => x.row.outcome,
    cell: (x) => <span class={`outcome outcome-${x.row.outcome}`}>{OUTCOME[x.row.outcome]}</span>,
  },
];

const numbered = <T,>(rows: readonly T[]): Numbered<T>[] => rows.map((row, index) => ({ row, index }));

export function Executions({ report }: { report: Report }) {
  const model = useModel();
  const rows = useMemo(() => numbered(report.executions), [report.executions]);
  const failed = report.executions.filter((e) => e.outcome === 'failed').length;
  const { focus } = model.settings;
  if (rows.length === 0) return null;
  return (
    <div>
      <div class="view-head">
        <h2>Executions</h2>
        <p class="soft">
          {count(rows.length)}
          {failed > 0 && `, ${count(failed)} failed`}
        </p>
      </div>
      <DataTable
        caption="Executions in order of their start"
        columns={executionColumns}
        rows={rows}
        rowKey={(x) => `execution.${x.index}`}
        sortBy="start"
        ascending
        page={25}
        target={focus?.startsWith('execution.') ? focus : null}
        onSelect={(key) =>
          key !== null &&
          model.go({
            focus: key,
            at: null,
            allocator: report.executions[Number(key.split('.')[1])]?.allocator ?? model.settings.allocator,
          })
        }
        open={(x) => <Requests of={x.row} />}
      />
    </div>
  );
}

function Requests({ of: e }: { of: Execution }) {
  if (e.requested_bytes.length === 0)
    return (
      <p class="soft">
        {askedFor(e) === null
          ? 'The capture does not say what it obtained.'
          : 'It obtained nothing from the allocator.'}
      </p>
    );
  return (
    <div>
      <p class="soft">Obtained, in order: outputs, then temp</p>
      <ol class="requests">
        {e.requested_bytes.slice(0, 400).map((b, i) => (
          <li key={i}>
            <Size bytes={b} />
          </li>
        ))}
      </ol>
      {e.requested_bytes.length > 400 && <p class="soft">and {count(e.requested_bytes.length - 400)} more</p>}
    </div>
  );
}

const opColumns = (of: string): readonly Column<OpSum>[] => [
  names('name', of, (s) => s.name, 70),
  sizes('live', 'Still alive', (s) => s.live_bytes),
  counts('arrays', 'Arrays', (s) => s.live_arrays),
  counts('executions', 'Executions', (s) => s.executions),
  counts('modules', 'Modules', (s) => s.modules, { minor: true }),
  sizes('asked', 'Asked for', (s) => s.requested_bytes, { minor: true }),
  durations('time', 'Calls took', (s) => s.duration_ps, { minor: true }),
];

/** A program that runs op by op in sums, since nobody reads hundreds of modules. */
export function OpByOp({ of, omitted }: { of: Ops; omitted: Omitted }) {
  const table = (head: string, rows: readonly OpSum[], cut: number) => (
    <div>
      <DataTable
        caption={`Operations by ${head}`}
        columns={opColumns(head)}
        rows={rows}
        rowKey={(s) => String(s.name)}
        sortBy="live"
        page={12}
      />
      {cut > 0 && <p class="soft">and {count(cut)} more</p>}
    </div>
  );
  return (
    <div>
      <div class="view-head">
        <h2>
          Op by op <Tag evidence="measured" />
        </h2>
        <p class="soft">
          {count(of.executions)} executions of {count(of.modules)} modules; what of their outputs is alive at the last
          start
        </p>
      </div>
      <div class="two-columns">
        {table('function', of.by_function, omitted.op_by_op_functions.omitted)}
        {table('Python line', of.by_line, omitted.op_by_op_lines.omitted)}
      </div>
    </div>
  );
}

const waitColumns: readonly Column<{ r: Retry; i: number }>[] = [
  durations('at', 'Began', (x) => x.r.at_ps),
  durations('long', 'Waited', (x) => x.r.duration_ps),
  {
    id: 'outcome',
    head: 'Outcome',
    sort: (x) => x.r.outcome,
    cell: (x) => <span class={`outcome outcome-${x.r.outcome}`}>{OUTCOME[x.r.outcome]}</span>,
  },
  {
    id: 'missing',
    head: 'Waited for',
    cell: (x) =>
      x.r.missing === null ? (
        <Unknown />
      ) : (
        <>
          <Size bytes={x.r.missing.bytes} />, <Name text={x.r.missing.what} most={60} />{' '}
          <span class="soft">
            ({count(x.r.missing.obtained)} of {count(x.r.missing.planned)} obtained)
          </span>{' '}
          <Tag evidence={x.r.missing.evidence} />
        </>
      ),
  },
  sizes('free', 'Free', (x) => x.r.free_bytes),
  sizes('largest', 'Largest chunk', (x) => x.r.largest_free_bytes),
  { id: 'evidence', head: 'Known', cell: (x) => <Tag evidence={x.r.evidence} /> },
];

export function Waits({ report, rows }: { report: Report; rows: readonly { r: Retry; i: number }[] }) {
  const { focus } = useModel().settings;
  if (report.retries.length === 0) return null;
  return (
    <div>
      <h2>Waits for memory to come back</h2>
      <DataTable
        caption="Waits of the allocator"
        columns={waitColumns}
        rows={rows}
        rowKey={(x) => `retry.${x.i}`}
        target={focus?.startsWith('retry.') ? focus : null}
        sortBy="at"
        ascending
        page={25}
      />
    </div>
  );
}

const liveColumns: readonly Column<Numbered<LiveGroup>>[] = [
  sizes('bytes', 'Bytes', (x) => x.row.bytes),
  {
    id: 'count',
    head: 'Arrays',
    numeric: true,
    sort: (x) => x.row.count,
    cell: (x) => (x.row.count === null ? <Unknown /> : count(x.row.count)),
  },
  {
    id: 'origin',
    head: 'Whose',
    sort: (x) => x.row.origin,
    cell: (x) => (
      <Keyed of={OWNER[x.row.kind]}>
        <Name text={x.row.origin} most={90} />
      </Keyed>
    ),
  },
  names('frame', 'Python frame', (x) => x.row.frame, 60, { minor: true }),
];

export function LiveAtLastStart({ report }: { report: Report }) {
  const { focus } = useModel().settings;
  // Of equal bytes the earlier execution first.
  const rows = useMemo(
    () => numbered(report.live_at_last_start).sort((a, b) => (a.row.execution ?? -1) - (b.row.execution ?? -1)),
    [report.live_at_last_start],
  );
  const cut = report.omitted.live_at_last_start;
  if (rows.length === 0) return null;
  return (
    <div id="live">
      <h2>
        Live when the last execution of{' '}
        {report.module === null ? 'the module' : <Name text={report.module} most={50} />} started
      </h2>
      <DataTable
        caption="Arrays live when the last execution started, by origin"
        columns={liveColumns}
        rows={rows}
        rowKey={(x) => `live.${x.index}`}
        target={focus === 'live' ? 'live.0' : focus?.startsWith('live.') ? focus : null}
        sortBy="bytes"
        page={15}
      />
      {cut.omitted > 0 && (
        <p class="soft">
          and {count(cut.omitted)} more, <Size bytes={cut.omitted_bytes} />
        </p>
      )}
    </div>
  );
}

const betweenColumns: readonly Column<Numbered<HostEvents>>[] = [
  names('name', 'Event', (x) => x.row.name, 90),
  {
    id: 'python',
    head: 'Written by',
    sort: (x) => (x.row.python ? 0 : 1),
    cell: (x) => (x.row.python ? 'Python tracer' : 'runtime'),
  },
  counts('count', 'Times', (x) => x.row.count),
  durations('time', 'Together', (x) => x.row.duration_ps),
];

export function Between({ report }: { report: Report }) {
  const { focus } = useModel().settings;
  const rows = useMemo(() => numbered(report.between_executions), [report.between_executions]);
  if (rows.length === 0) return null;
  return (
    <div id="between">
      <h2>Host events between the last two executions</h2>
      <DataTable
        caption="Host events between the last two executions"
        columns={betweenColumns}
        rows={rows}
        rowKey={(x) => `between.${x.index}`}
        target={focus === 'between' ? 'between.0' : focus?.startsWith('between.') ? focus : null}
        page={15}
      />
    </div>
  );
}
