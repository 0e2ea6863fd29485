/**
 * What AWS counts, of some work. Writes and reads of the kinds of items whose size depends on the plan (a delivery grows
 * with its attempts, a chunk with its members, a message with its body) are counted one by one and weighed later; all others
 * come in units.
 */
export const counters = [
  /** Writes of a DELIVERY item, those that a condition refused included. */
  'deliveryWrites',
  /** The same of a CHUNK item. */
  'chunkWrites',
  'messageWrites',
  'messageReads',
  /** Write units of other items. */
  'otherWriteUnits',
  'indexWriteUnits',
  'otherReadUnits',
  /** SQS requests by which a function sends, in 64 KB. */
  'sendRequests',
  /** Messages that a function sends to SQS together with others of their invocation, as far as it has several. */
  'joinedMessages',
  /** Messages that Lambda fetches from the ingress and the delivery queue, and from the retry queue. */
  'firstRecords',
  'retryRecords',
  /** Schedules that EventBridge Scheduler carries out; each sends a message to the retry queue. */
  'schedules',
  'kmsRequests',
  's3Puts',
  's3Gets',
  'events',
  /** All calls of AWS, whatever they cost: each of them takes time. */
  'awsCalls',
  /** Requests to subscribers. */
  'attempts',
  'logBytes',
  'cpuMs',
] as const;

export type Counter = (typeof counters)[number];

export type Units = Readonly<Record<Counter, number>>;

function each(value: (counter: Counter) => number): Units {
  return {
    deliveryWrites: value('deliveryWrites'),
    chunkWrites: value('chunkWrites'),
    messageWrites: value('messageWrites'),
    messageReads: value('messageReads'),
    otherWriteUnits: value('otherWriteUnits'),
    indexWriteUnits: value('indexWriteUnits'),
    otherReadUnits: value('otherReadUnits'),
    sendRequests: value('sendRequests'),
    joinedMessages: value('joinedMessages'),
    firstRecords: value('firstRecords'),
    retryRecords: value('retryRecords'),
    schedules: value('schedules'),
    kmsRequests: value('kmsRequests'),
    s3Puts: value('s3Puts'),
    s3Gets: value('s3Gets'),
    events: value('events'),
    awsCalls: value('awsCalls'),
    attempts: value('attempts'),
    logBytes: value('logBytes'),
    cpuMs: value('cpuMs'),
  };
}

export const noUnits: Units = each(() => 0);

export function sum(...parts: readonly Units[]): Units {
  return each((counter) => parts.reduce((total, part) => total + part[counter], 0));
}

export function times(units: Units, factor: number): Units {
  return each((counter) => units[counter] * factor);
}

export function difference(whole: Units, part: Units): Units {
  return each((counter) => whole[counter] - part[counter]);
}

/** With nothing below 0. */
export function atLeastNone(units: Units): Units {
  return each((counter) => Math.max(0, units[counter]));
}
