/** What was read: the file, the platform, every module with its totals, warnings and limits. */

import { useEffect } from 'preact/hooks';
import type { Module, ModuleWhy, Report, SourceKind } from '../../generated/report';
import { deviceSpace } from '../lib/pool';
import { plain } from '../lib/text';
import { count, exactSize, size } from '../lib/units';
import { Name, Prose, Size, Tag, Unknown } from '../ui/basic';
import { useModel } from '../ui/context';
import { type Column, counts, DataTable, names, sizes } from '../ui/table';
import { PassedOverList } from './PassedOver';

const KIND: Readonly<Record<SourceKind, string>> = {
  xspace: 'a profiler capture',
  hlo_proto: 'a dump of one module: its plan, no run',
  error_text: 'the text of a failure',
  memory_profile: 'a device memory profile',
};

const WHY: Readonly<Record<ModuleWhy, string>> = {
  launched_no_kernel: 'its last execution failed',
  largest_executed: 'it has the largest need of those that were executed',
  largest: 'it has the largest need, and the capture records no execution',
  asked: 'you chose it',
  error_text: 'the text of the failure is of it',
};

const total = (m: Module) => deviceSpace(m);

const columns: readonly Column<Module>[] = [
  names('name', 'Module', (m) => m.name, 60),
  sizes('need', 'Need', (m) => total(m)?.need_bytes ?? null),
  sizes('parameters', 'Parameters', (m) => total(m)?.parameters_bytes ?? null, { minor: true }),
  sizes('donated', 'Donated', (m) => total(m)?.donated_bytes ?? null, { minor: true }),
  sizes('outputs', 'Outputs', (m) => total(m)?.outputs_bytes ?? null, { minor: true }),
  sizes('temp', 'Temp', (m) => total(m)?.temp_bytes ?? null),
  sizes('peak', 'Heap peak', (m) => total(m)?.heap_peak_bytes ?? null, { minor: true }),
  {
    id: 'executions',
    head: 'Executions',
    numeric: true,
    sort: (m) => m.executions,
    cell: (m) => (m.executions === null ? <Unknown /> : count(m.executions)),
  },
  counts('instructions', 'Instructions', (m) => m.instructions, { minor: true }),
];

export function CaptureView({ report }: { report: Report }) {
  const model = useModel();
  const { source, platform } = report;
  const { focus } = model.settings;
  const beside = model.current?.capture?.beside ?? [];
  useEffect(() => {
    if (focus === 'limits' || focus === 'warning') document.getElementById(focus)?.scrollIntoView({ block: 'start' });
  }, [focus]);
  const wanted = focus?.startsWith('module')
    ? report.modules[Number(focus.split('.')[1] ?? report.modules.findIndex((m) => m.name === report.module))]
    : undefined;
  return (
    <section aria-labelledby="capture-title" class="stack">
      <h1 class="title" id="capture-title">
        What was read
      </h1>
      <div class="two-columns">
        <dl class="facts">
          <dt>File</dt>
          <dd>
            <Name text={source.file} most={100} full />, {size(source.size_bytes)}
          </dd>
          <dt>It is</dt>
          <dd>{KIND[source.kind]}</dd>
          {beside.length > 0 && (
            <>
              <dt>Beside it</dt>
              <dd>
                {beside.map((b) => (
                  <div key={b.kind}>
                    <Name text={b.input.name} most={60} />, {KIND[b.kind === 'text' ? 'error_text' : 'memory_profile']}
                  </div>
                ))}
              </dd>
            </>
          )}
          <dt>Host</dt>
          <dd>{source.host === null ? <Unknown /> : <Name text={source.host} most={60} />}</dd>
          <dt>Read by</dt>
          <dd>
            {plain(report.tool.name, 40)} {plain(report.tool.version, 40)}, report {plain(report.schema, 40)}
          </dd>
        </dl>
        <dl class="facts">
          <dt>Backend</dt>
          <dd>
            {platform.backend ?? <Unknown />} {platform.vendor !== null && plain(platform.vendor, 60)}
          </dd>
          <dt>JAX</dt>
          <dd>{platform.jax_version === null ? <Unknown /> : plain(platform.jax_version, 60)}</dd>
          <dt>Devices</dt>
          <dd>
            {platform.devices.length === 0 && <Unknown />}
            {platform.devices.slice(0, 64).map((d) => (
              <div key={d.plane}>
                <Name text={d.plane} most={60} /> {d.name !== null && <Name text={d.name} most={60} />}{' '}
                {d.memory_bytes !== null && size(d.memory_bytes)}
              </div>
            ))}
          </dd>
        </dl>
      </div>

      {report.warnings.length > 0 && (
        <div id="warning">
          <h2>Warnings about the file</h2>
          <ul class="plain-list">
            {report.warnings.slice(0, 200).map((w, i) => (
              <li key={i}>
                <Prose text={w.message} /> {w.offset !== null && <span class="soft">(byte {count(w.offset)})</span>}
              </li>
            ))}
          </ul>
        </div>
      )}

      <PassedOverList />
      {report.modules.length > 0 && (
        <div>
          <div class="view-head">
            <h2>
              Modules <Tag evidence="read" />
            </h2>
            {report.module !== null && report.module_why !== null && (
              <p class="soft">
                <Name text={report.module} most={60} /> is analysed: {WHY[report.module_why]}
              </p>
            )}
          </div>
          <DataTable
            caption="Modules of the capture with their totals in the device's memory"
            columns={columns}
            rows={report.modules}
            rowKey={(m) => m.program_id + m.name}
            sortBy="need"
            target={wanted === undefined ? null : wanted.program_id + wanted.name}
            page={50}
            open={(m) => <ModuleDetails of={m} />}
          />
        </div>
      )}

      <div id="limits">
        <h2>What this capture cannot tell</h2>
        <ul class="plain-list">
          {report.limits.map((l) => (
            <li key={l.id}>
              <Prose text={l.sentence} />
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function ModuleDetails({ of: m }: { of: Module }) {
  const model = useModel();
  const ma = m.memory_analysis;
  return (
    <div class="stack">
      <p>
        <a href={model.link({ module: m.name, view: 'plan', event: null, focus: null })}>Look at its plan</a>{' '}
        <span class="soft">
          program id {plain(m.program_id, 40)}, {count(m.rematerialized_instructions)} rematerialized instructions
        </span>
      </p>
      <div class="two-columns">
        <div>
          <p class="soft">By memory space; never added together</p>
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">Space</th>
                <th scope="col" class="number">
                  Need
                </th>
                <th scope="col" class="number">
                  At launch
                </th>
                <th scope="col" class="number">
                  Temp
                </th>
                <th scope="col" class="number">
                  Constants
                </th>
              </tr>
            </thead>
            <tbody>
              {m.spaces.map((s) => (
                <tr key={s.space}>
                  <th scope="row">
                    {s.space} {plain(s.name, 60)}
                  </th>
                  <td class="number">
                    <Size bytes={s.need_bytes} />
                  </td>
                  <td class="number">
                    <Size bytes={s.launch_need_bytes} />
                  </td>
                  <td class="number">
                    <Size bytes={s.temp_bytes} />
                    {s.temp_blocks.length > 1 && <span class="soft"> in {s.temp_blocks.length} blocks</span>}
                  </td>
                  <td class="number">
                    <Size bytes={s.constants_bytes} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <div>
          <p class="soft">
            <code>compiled.memory_analysis()</code> says the same, to check it by:
          </p>
          {ma === null ? (
            <p>no buffer assignment, so no numbers</p>
          ) : (
            <dl class="facts">
              <dt>argument_size_in_bytes</dt>
              <dd>{exactSize(ma.argument_size_in_bytes)}</dd>
              <dt>output_size_in_bytes</dt>
              <dd>{exactSize(ma.output_size_in_bytes)}</dd>
              <dt>alias_size_in_bytes</dt>
              <dd>{exactSize(ma.alias_size_in_bytes)}</dd>
              <dt>temp_size_in_bytes</dt>
              <dd>{exactSize(ma.temp_size_in_bytes)}</dd>
            </dl>
          )}
        </div>
      </div>
    </div>
  );
}
