import { tableLines, type Column } from '../../cli/output/table.ts';
import { stepNames, type OperationTable, type Units } from '../../cli/commands/plan/tables.ts';

const right = (head: string): Column => ({ head, align: 'right' });

const columns: readonly (readonly [head: string, of: (units: Units) => number])[] = [
  ['Item writes', ({ deliveryWrites = 0, messageWrites = 0 }) => deliveryWrites + messageWrites],
  ['Other WRU', ({ otherWriteUnits = 0, indexWriteUnits = 0 }) => otherWriteUnits + indexWriteUnits],
  ['RRU', ({ otherReadUnits = 0, messageReads = 0 }) => otherReadUnits + messageReads],
  ['SQS sends', ({ sendRequests = 0 }) => sendRequests],
  ['Schedules', ({ schedules = 0 }) => schedules],
  ['S3', ({ s3Puts = 0, s3Gets = 0 }) => s3Puts + s3Gets],
  ['Calls', ({ awsCalls = 0 }) => awsCalls],
  ['Log bytes', ({ logBytes = 0 }) => logBytes],
  ['CPU ms', ({ cpuMs = 0 }) => cpuMs],
];

/** What each step costs. */
export const resultText = (table: OperationTable): string =>
  [
    'Each step by itself, as if each message to SQS had a request of its own:',
    '',
    ...tableLines(
      [{ head: 'Step' }, ...columns.map(([head]) => right(head))],
      stepNames.map((name) => [name, ...columns.map(([, of]) => of(table.steps[name]).toFixed(2))]),
    ),
    '',
    ...Object.entries(table.perInvocation).map(
      ([name, { memoryMegabytes, logBytes, cpuMs }]) =>
        `An invocation of ${name} (${memoryMegabytes} MB): ${cpuMs.toFixed(1)} ms of CPU, ${Math.round(logBytes)} bytes of log.`,
    ),
    `A delivery's item after each attempt: ${table.deliveryItemBytes.join(', ')} bytes.`,
  ].join('\n');
