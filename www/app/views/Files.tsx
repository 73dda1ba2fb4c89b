/** Several captures: one row for each device, the one that is not like the others first. */

import { useMemo } from 'preact/hooks';
import { sides } from '../lib/compare';
import { labels } from '../lib/files';
import { type DeviceRow, deviceRows, gravity } from '../lib/hosts';
import { STATUS } from '../lib/palette';
import { plain } from '../lib/text';
import { percent, plural, size } from '../lib/units';
import { Difference, Name, Tag, Unknown } from '../ui/basic';
import { useModel } from '../ui/context';
import { type Column, DataTable, names, sizes } from '../ui/table';
import { PassedOverList } from './PassedOver';
import { ItemList } from './Reading';

const isOut = (r: DeviceRow): boolean => !r.beside && r.report.verdict.status === 'out_of_memory';

/** Below this share of the median a difference is no reason to look. */
const ODD = 0.03;

export function FilesView() {
  const model = useModel();
  const { captures } = model;
  const rows = useMemo(
    () => deviceRows(captures.flatMap((c) => (c.capture === null ? [] : [c.capture]))),
    [captures.length, captures[0]?.id],
  );
  const odd = rows.reduce<DeviceRow | null>((most, r) => ((r.off ?? -1) > (most?.off ?? -1) ? r : most), null);
  const earlier = new Set(rows.flatMap((r) => (r.newer > 0 ? [r.file] : []))).size;
  const own = rows.filter((r) => !r.beside);
  const beside = rows.length - own.length;
  const failing = [...new Set(rows.flatMap((r) => (isOut(r) ? [r.file] : [])))];
  const files = useMemo(() => labels(captures, 56), [captures.length, captures[0]?.id]);
  const besides = new Map<string, number>();
  for (const { input } of captures.flatMap((c) => c.capture?.beside ?? []))
    besides.set(input.path, (besides.get(input.path) ?? 0) + 1);
  const both = sides({ ...model.settings, file: 0, before: null }, model.comparable);
  const failed = model.items.filter((i) => i.capture === null);
  const columns = useMemo(
    (): Column<DeviceRow>[] => [
      {
        id: 'file',
        head: 'Capture',
        sort: (r) => r.file,
        cell: (r) => (
          <a
            href={model.link({
              view: 'summary',
              file: r.file,
              module: null,
              event: null,
              at: null,
              allocator: null,
              focus: null,
            })}
          >
            <span title={plain(captures[r.file]?.path ?? '', 1000)}>
              <Name text={files[r.file] ?? ''} />
            </span>
          </a>
        ),
      },
      names('host', 'Host', (r) => r.report.source.host, 32, { minor: true }),
      { id: 'device', head: 'Device', numeric: true, sort: (r) => r.device, cell: (r) => r.device ?? <Unknown /> },
      sizes('need', 'Need', (r) => r.needBytes, { evidence: 'read' }),
      sizes('peak', 'Peak in use', (r) => r.peakBytes, { evidence: 'measured' }),
      sizes('pool', 'Pool', (r) => r.capacityBytes, { minor: true, evidence: 'measured' }),
      {
        id: 'off',
        head: 'Off the median',
        numeric: true,
        sort: (r) => r.off,
        cell: (r) =>
          r.newer > 0 ? (
            'an earlier run'
          ) : r.off === null ? (
            <Unknown why="no other device ran this program" />
          ) : (
            <Difference bytes={r.offBytes} better={r.off > ODD ? -1 : 0} />
          ),
        help: 'The larger of the differences of peak and need from the median of all devices that ran the same program, in the newest run of each host.',
      },
      {
        id: 'verdict',
        head: 'Verdict',
        sort: (r) => gravity(r.report),
        cell: (r) => (
          <>
            <span class={`severity severity-${STATUS[r.report.verdict.status].severity}`}>
              {STATUS[r.report.verdict.status].label}
            </span>{' '}
            <Tag evidence={r.report.verdict.evidence} />
          </>
        ),
      },
    ],
    [captures, model],
  );
  return (
    <section aria-labelledby="files-title" class="stack">
      <h1 class="title" id="files-title">
        {plural(captures.length - beside, 'capture')}, {plural(own.filter((r) => r.newer === 0).length, 'device')}
        {earlier > 0 && `, ${plural(earlier, 'earlier run')}`}
        {beside > 0 && `, ${plural(beside, 'text or profile', 'texts and profiles')}`}
      </h1>
      {(failing.length > 0 || odd?.off != null) && (
        <p class="lede">
          {failing.length > 0 && (
            <b>
              {failing.slice(0, 3).map((file, i) => (
                <>
                  {i > 0 && ', '}
                  <Name text={files[file] ?? ''} />
                </>
              ))}
              {failing.length > 3 && ` and ${plural(failing.length - 3, 'other capture')}`} ran out of memory.{' '}
            </b>
          )}
          {odd?.off == null ? (
            ''
          ) : odd.off > ODD ? (
            <>
              <Name text={odd.allocator ?? odd.report.source.file} most={50} /> of{' '}
              <Name text={odd.report.source.host ?? odd.report.source.file} most={50} />{' '}
              {odd.offOf === 'peak' ? 'holds at its peak' : 'needs'} {size(Math.abs(odd.offBytes))}{' '}
              {odd.offBytes > 0 ? 'more' : 'less'} than the median of {odd.peers} devices with this program,{' '}
              {percent(odd.off)} off.
            </>
          ) : (
            'None is more than 3 % off the median of its peers in need or peak.'
          )}
        </p>
      )}
      {rows.length > 0 && (
        <DataTable caption="Devices of all captures" columns={columns} rows={rows} rowKey={(r) => r.key} page={100} />
      )}
      {failed.length > 0 && (
        <div>
          <h2>{plural(failed.length, 'file')} not read</h2>
          <ItemList items={failed} onRemove={(item) => model.closeOne(item)} />
        </div>
      )}
      {[...besides].map(([name, n]) => (
        <p key={name}>
          <Name text={name} most={60} /> is read beside {n === captures.length ? 'every capture' : `${n} of them`}.
        </p>
      ))}
      <PassedOverList />
      {both !== null && (
        <p>
          <a href={model.link({ view: 'compare', before: both.before, file: both.after, module: null, focus: null })}>
            Compare {model.comparable.length === 2 ? 'them' : 'two of them'}
          </a>
        </p>
      )}
    </section>
  );
}
