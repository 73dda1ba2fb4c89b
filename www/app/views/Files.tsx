/** Several captures: one row for each device, the one that is not like the others first. */

import { useMemo } from 'preact/hooks';
import { labels } from '../lib/files';
import { type DeviceRow, deviceRows } from '../lib/hosts';
import { STATUS } from '../lib/palette';
import { plain } from '../lib/text';
import { percent, plural, size } from '../lib/units';
import { Difference, Name, Unknown } from '../ui/basic';
import { useModel } from '../ui/context';
import { type Column, DataTable, names, sizes } from '../ui/table';
import { PassedOverList } from './PassedOver';
import { ItemList } from './Reading';

/** Below this share of the median a difference is no reason to look. */
const ODD = 0.03;

export function FilesView() {
  const model = useModel();
  const { captures } = model;
  const rows = useMemo(
    () => deviceRows(captures.flatMap((c) => (c.capture === null ? [] : [c.capture]))),
    [captures.length, captures[0]?.id],
  );
  const odd = rows.find((r) => r.off !== null);
  const earlier = new Set(rows.flatMap((r) => (r.newer > 0 ? [r.file] : []))).size;
  const files = useMemo(() => labels(captures, 56), [captures.length, captures[0]?.id]);
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
      sizes('need', 'Need', (r) => r.needBytes),
      sizes('peak', 'Peak in use', (r) => r.peakBytes),
      sizes('pool', 'Pool', (r) => r.capacityBytes, { minor: true }),
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
            <Difference bytes={r.offBytes} />
          ),
        help: 'The larger of the differences of peak and need from the median of all devices that ran the same program, in the newest run of each host.',
      },
      {
        id: 'verdict',
        head: 'Verdict',
        sort: (r) => r.report.verdict.status,
        cell: (r) => (
          <span class={`severity severity-${STATUS[r.report.verdict.status].severity}`}>
            {STATUS[r.report.verdict.status].label}
          </span>
        ),
      },
    ],
    [captures, model],
  );
  return (
    <section aria-labelledby="files-title" class="stack">
      <h1 class="title" id="files-title">
        {plural(captures.length, 'capture')}, {plural(rows.filter((r) => r.newer === 0).length, 'device')}
        {earlier > 0 && `, ${plural(earlier, 'earlier run')}`}
      </h1>
      {odd?.off != null && (
        <p class="lede">
          {odd.off > ODD ? (
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
          <ItemList items={failed} />
        </div>
      )}
      <PassedOverList />
      {captures.length > 1 && (
        <p>
          <a href={model.link({ view: 'compare', before: 0, file: 1, module: null, focus: null })}>
            Compare {captures.length === 2 ? 'them' : 'two of them'}
          </a>
        </p>
      )}
    </section>
  );
}
