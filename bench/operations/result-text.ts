import type { OperationTable, PathCount } from '../../cli/commands/plan/model/operation-table.ts';
import { sum } from '../../cli/commands/plan/model/units.ts';
import { tableLines, type Column } from '../../cli/output/table.ts';

const right = (head: string): Column => ({ head, align: 'right' });

const COLUMNS: readonly Column[] = [
  { head: 'Path' },
  right('Fan-out'),
  right('Item writes'),
  right('Index WRU'),
  right('Other RRU'),
  right('SQS sends'),
  right('Schedules'),
  right('S3'),
  right('Calls'),
  right('Log bytes'),
  right('CPU ms'),
];

/** What was counted, for each delivery. */
export const resultText = (table: OperationTable): string =>
  [
    'Per delivery, dispatch and deliver together, as if each record sent to SQS by itself; what an invocation costs by itself is below.',
    '',
    ...tableLines(COLUMNS, table.paths.map(rowOf)),
    '',
    ...Object.entries(table.perInvocation).map(
      ([name, { memoryMegabytes, logBytes, cpuMs }]) =>
        `An invocation of ${name} (${memoryMegabytes} MB): ${cpuMs.toFixed(1)} ms of CPU, ${Math.round(logBytes)} bytes of log.`,
    ),
    `A delivery's item after each attempt: ${table.deliveryItemBytes.join(', ')} bytes.`,
  ].join('\n');

const rowOf = ({ path, messages, fanOut, dispatch, deliver }: PathCount): string[] => {
  const all = sum(dispatch, deliver);
  const each = (total: number, decimals = 2): string => (total / (messages * fanOut)).toFixed(decimals);
  return [
    path,
    String(fanOut),
    each(all.deliveryWrites + all.chunkWrites + all.messageWrites),
    each(all.indexWriteUnits),
    each(all.otherReadUnits + all.messageReads),
    each(all.sendRequests),
    each(all.schedules),
    each(all.s3Puts + all.s3Gets),
    each(all.awsCalls),
    each(all.logBytes, 0),
    each(all.cpuMs, 1),
  ];
};
