import { counters, REQUEST_UNIT, unitsOf } from '../../cli/commands/plan/tables.ts';
import type { Call, CallLogEntry, Invocation } from '../../local/call-log.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import { Problem } from '../../local/install/problem.mjs';

/** The number of records of an invocation, and a figure of it. */
type Point = { records: number; value: number };

/**
 * The fixed cost of an invocation: the height at 0 records of the line through the points (least squares), at least 0. It is 0
 * where all invocations have the same number of records.
 */
export function atNoRecords(points: readonly Point[]): number {
  if (points.length === 0) return 0;
  const records = meanOf(points, (point) => point.records);
  const values = meanOf(points, ({ value }) => value);
  const spread = meanOf(points, (point) => (point.records - records) ** 2);
  if (spread === 0) return 0;
  const slope = meanOf(points, (point) => (point.records - records) * (point.value - values)) / spread;
  return Math.max(0, values - slope * records);
}

/** A function's calls in the units of AWS, and its messages. Repeats by the SDK, made because this machine was slow, do not count. */
export function tallyOf(
  entries: readonly CallLogEntry[],
  { functionName, retryQueueUrl }: { functionName: string; retryQueueUrl: string },
): Units {
  return sum(
    ...callsOf(entries, functionName)
      // The plan assumes a number of writes of statistics per invocation.
      .filter((call) => !call.repeat && !isStatistics(call))
      .map(weightOf),
    ...invocationsOf(entries, functionName).map((invocation) => ({
      [isFedBy(retryQueueUrl)(invocation) ? 'retryRecords' : 'firstRecords']: invocation.records,
    })),
  );
}

export function callsOf(entries: readonly CallLogEntry[], functionName: string): Call[] {
  return entries
    .filter((entry) => entry.kind === 'call')
    .filter(({ caller }) => caller.endsWith(`/${functionName}`));
}

export function invocationsOf(entries: readonly CallLogEntry[], functionName: string): Invocation[] {
  return entries
    .filter((entry) => entry.kind === 'invocation')
    .filter((entry) => entry.function === functionName);
}

/** Whether the records of an invocation are from that queue. */
export function isFedBy(queueUrl: string): (invocation: Pick<Invocation, 'queue'>) => boolean {
  const name = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
  return ({ queue }) => queue?.endsWith(`:${name}`) === true;
}

/** @throws Problem where the machine does not report it */
export function cpuMsOf({ cpuMs }: Pick<Invocation, 'cpuMs'>): number {
  if (cpuMs === null)
    throw new Problem('This machine does not report processor time (/proc/<pid>/task/*/schedstat).');
  return cpuMs;
}

/** @throws Problem where the units of AWS are unknown */
function weightOf(call: Call): Units {
  const weight = call.service === 'dynamodb' ? weightOfItem(call) : weights[call.service]?.(call);
  if (weight === undefined)
    throw new Problem(`The units of ${call.service} ${call.operation} (${call.status}) are unknown.`);
  return { awsCalls: 1, ...weight };
}

/** Amazon S3 pricing: deletions are free. */
const bucketWeights: Readonly<Record<string, Units>> = {
  PutObject: { s3Puts: 1 },
  GetObject: { s3Gets: 1 },
  DeleteObject: {},
};

const weights: Readonly<Record<string, (call: Call) => Units | undefined>> = {
  sqs: (call) => ({
    sendRequests: requestUnits(call),
    joinedMessages: isJoined(call) ? (call.messages ?? 0) : 0,
  }),
  kms: () => ({ kmsRequests: 1 }),
  events: ({ requestBytes }) => ({ events: unitsOf(requestBytes, REQUEST_UNIT) }),
  s3: ({ operation }) => bucketWeights[operation],
  // Billed when it fires, which is an entry of the log.
  scheduler: () => ({}),
};

/** Begun 64 KB, the unit of charge. */
function requestUnits({ messageBytes = 0 }: Call): number {
  return unitsOf(messageBytes, REQUEST_UNIT);
}

/** Notices and dead letters are sent separately, with SendMessage. */
function isJoined({ operation }: Call): boolean {
  return operation === 'SendMessageBatch';
}

/** One read or write of an item whose size depends on the plan, or the units of another. */
function weightOfItem(call: Call): Units | undefined {
  const { item = '', readUnits, writeUnits } = call;
  const isMessage = item.endsWith(' MESSAGE');
  if (readUnits !== undefined) return isMessage ? { messageReads: 1 } : { otherReadUnits: readUnits };
  if (writeUnits === undefined) return undefined;
  const indexWriteUnits = indexUnitsOf(call);
  if (isMessage) return { messageWrites: 1, indexWriteUnits };
  if (isChunk(call)) return { chunkWrites: 1, indexWriteUnits };
  return isDelivery(call)
    ? { deliveryWrites: 1, indexWriteUnits }
    : { otherWriteUnits: writeUnits, indexWriteUnits };
}

export function indexUnitsOf({ indexWriteUnits = {} }: Call): number {
  return sumOf(Object.values(indexWriteUnits), (units) => units);
}

/** A write of the counters of a queue and minute. */
export function isStatistics({ item }: Pick<Call, 'item'>): boolean {
  return item?.includes('#statistics ') === true;
}

export function isDelivery({ item }: Call): boolean {
  return item?.includes(' DELIVERY#') === true;
}

export function isChunk({ item }: Call): boolean {
  return item?.includes(' CHUNK#') === true;
}

/** The same with each of the `sends` in a separate request of at most 64 KB. The plan joins them as full as its batches are. */
export function sentAlone(units: Units, calls: readonly Call[], sends: number): Units {
  const joined = calls.filter((call) => isJoined(call) && !call.repeat);
  return {
    ...units,
    sendRequests: (units.sendRequests ?? 0) - sumOf(joined, requestUnits) + sends,
    awsCalls: (units.awsCalls ?? 0) - joined.length + sends,
  };
}

/** The counters of the plan's table, and two that lead to it. */
const counted = [...counters, 'chunkWrites', 'firstRecords'] as const;

export type Counter = (typeof counted)[number];
export type Units = Readonly<Partial<Record<Counter, number>>>;

export function countOf(units: Units, counter: Counter): number {
  return units[counter] ?? 0;
}

export function sum(...parts: readonly Units[]): Units {
  return each((counter) => sumOf(parts, (part) => countOf(part, counter)));
}

export function times(units: Units, factor: number): Units {
  return each((counter) => countOf(units, counter) * factor);
}

export function difference(whole: Units, part: Units): Units {
  return each((counter) => countOf(whole, counter) - countOf(part, counter));
}

/** Small differences may be negative by noise, and must not be before they are multiplied. */
export function atLeastZero(units: Units): Units {
  return each((counter) => Math.max(0, countOf(units, counter)));
}

/** The counters of the table without zeros, in thousandths. */
export function rounded(units: Units): Units {
  const values: Partial<Record<Counter, number>> = {};
  for (const counter of counters) {
    const value = Math.round(countOf(units, counter) * 1000) / 1000;
    if (value !== 0) values[counter] = value;
  }
  return values;
}

function each(value: (counter: Counter) => number): Units {
  const units: Partial<Record<Counter, number>> = {};
  for (const counter of counted) units[counter] = value(counter);
  return units;
}
