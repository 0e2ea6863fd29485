import { counters, REQUEST_UNIT, unitsOf } from '../../cli/commands/plan/tables.ts';
import type { Call, CallLogEntry, Invocation } from '../../local/call-log.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import { Problem } from '../../local/install/problem.mjs';

/** A point: how many records an invocation had, and what was measured of it. */
type Point = { records: number; value: number };

/**
 * What an invocation costs by itself, whatever its records: the height at 0 of the straight line through the points (least
 * squares), never below 0. With points of one size only there is no such line, and nothing is ascribed to the invocation.
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

/**
 * What a function's calls weigh, by what AWS counts, and the messages it got. What the SDK repeated because this machine was
 * slow is not counted again.
 */
export function tallyOf(
  entries: readonly CallLogEntry[],
  { functionName, retryQueueUrl }: { functionName: string; retryQueueUrl: string },
): Units {
  return sum(
    ...callsOf(entries, functionName)
      .filter(({ repeat }) => !repeat)
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

/** Whether an invocation got its records from that queue. */
export function isFedBy(queueUrl: string): (invocation: Pick<Invocation, 'queue'>) => boolean {
  const name = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
  return ({ queue }) => queue?.endsWith(`:${name}`) === true;
}

/** @throws Problem where the machine does not say: a figure that was not measured is not written down */
export function cpuMsOf({ cpuMs }: Pick<Invocation, 'cpuMs'>): number {
  if (cpuMs === null)
    throw new Problem('This machine does not say how long a process has run (/proc/<pid>/task/*/schedstat).');
  return cpuMs;
}

/** @throws Problem where it is not known what AWS would count */
function weightOf(call: Call): Units {
  const weighed = weigh(call);
  if (weighed === undefined)
    throw new Problem(`A call of ${call.service} ${call.operation} (${call.status}) cannot be weighed.`);
  return { awsCalls: 1, ...weighed };
}

function weigh(call: Call): Units | undefined {
  switch (call.service) {
    case 'dynamodb':
      return weighItem(call);
    case 'sqs':
      return {
        sendRequests: requestUnits(call),
        joinedMessages: isJoined(call) ? (call.messages ?? 0) : 0,
      };
    case 'kms':
      return { kmsRequests: 1 };
    case 'events':
      return { events: unitsOf(call.requestBytes, REQUEST_UNIT) };
    case 's3':
      return BUCKET[call.operation];
    // Billed as it is carried out, and the log says when that is.
    case 'scheduler':
      return {};
    default:
      return undefined;
  }
}

/** What a send is charged for, in 64 KB. */
function requestUnits({ messageBytes = 0 }: Pick<Call, 'messageBytes'>): number {
  return unitsOf(messageBytes, REQUEST_UNIT);
}

/** Notices and dead letters go by themselves, by SendMessage. */
function isJoined({ operation }: Pick<Call, 'operation'>): boolean {
  return operation === 'SendMessageBatch';
}

/** Amazon S3 pricing: deletions are free. */
const BUCKET: Readonly<Record<string, Units>> = {
  PutObject: { s3Puts: 1 },
  GetObject: { s3Gets: 1 },
  DeleteObject: {},
};

function weighItem(call: Call): Units | undefined {
  if (call.readUnits !== undefined)
    return isMessage(call) ? { messageReads: 1 } : { otherReadUnits: call.readUnits };
  if (call.writeUnits === undefined) return undefined;
  return { ...writeOf(call, call.writeUnits), indexWriteUnits: indexUnitsOf(call) };
}

export function indexUnitsOf({ indexWriteUnits = {} }: Pick<Call, 'indexWriteUnits'>): number {
  return sumOf(Object.values(indexWriteUnits), (units) => units);
}

/** One of an item whose size depends on the plan, or the units of another. */
function writeOf(call: Call, units: number): Units {
  if (isMessage(call)) return { messageWrites: 1 };
  if (isChunk(call)) return { chunkWrites: 1 };
  return isDelivery(call) ? { deliveryWrites: 1 } : { otherWriteUnits: units };
}

function isMessage({ item }: Pick<Call, 'item'>): boolean {
  return item?.endsWith(' MESSAGE') === true;
}

export function isDelivery({ item }: Pick<Call, 'item'>): boolean {
  return item?.includes(' DELIVERY#') === true;
}

export function isChunk({ item }: Pick<Call, 'item'>): boolean {
  return item?.includes(' CHUNK#') === true;
}

/**
 * What a function did, had each of its `sends` gone by itself, in one request of 64 KB at most. How many went together
 * depends on how full the batches of the run were; the plan puts them together as full as its own are.
 */
export function sentAlone(units: Units, calls: readonly Call[], sends: number): Units {
  const joined = calls.filter((call) => isJoined(call) && !call.repeat);
  return {
    ...units,
    sendRequests: (units.sendRequests ?? 0) - sumOf(joined, requestUnits) + sends,
    awsCalls: (units.awsCalls ?? 0) - joined.length + sends,
  };
}

/** What a run is counted by: the counters of the plan's table, and two that only lead to it. */
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

/** Differences that are small beside the noise of the machine must not be negative before they are multiplied. */
export function atLeastZero(units: Units): Units {
  return each((counter) => Math.max(0, countOf(units, counter)));
}

/** For the table: its counters alone, without zeros, in thousandths. */
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
