import type { OperationTable } from './operation-table.ts';

/** What the records of an invocation read together, in read units and calls. */
export type SharedReads = OperationTable['sharedReads']['queue'];

/** The queue with so many subscriptions. All records of an invocation are taken for messages of one queue. */
export function dispatchReads(
  { dispatch, furtherSubscription }: OperationTable['sharedReads'],
  subscriptions: number,
): SharedReads {
  return added(dispatch, furtherSubscription, subscriptions - 1);
}

/** For first attempts: the queue, and each subscription among them. */
export function deliverReads(
  { queue, subscription }: OperationTable['sharedReads'],
  subscriptions: number,
): SharedReads {
  return added(queue, subscription, subscriptions);
}

function added(reads: SharedReads, each: SharedReads, count: number): SharedReads {
  return {
    units: reads.units + count * each.units,
    calls: reads.calls + count * each.calls,
  };
}
