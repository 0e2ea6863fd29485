import type { OperationTable } from './operation-table.ts';

/** What the records of an invocation read together, in read units and calls. */
export type SharedReads = OperationTable['sharedReads']['queue'];

/** The queue with so many subscriptions. All records of an invocation are taken for messages of one queue. */
export const dispatchReads = (
  { dispatch, furtherSubscription }: OperationTable['sharedReads'],
  subscriptions: number,
): SharedReads => added(dispatch, furtherSubscription, subscriptions - 1);

/** For first attempts: the queue, and each subscription among them. */
export const deliverReads = (
  { queue, subscription }: OperationTable['sharedReads'],
  subscriptions: number,
): SharedReads => added(queue, subscription, subscriptions);

const added = (reads: SharedReads, each: SharedReads, count: number): SharedReads => ({
  units: reads.units + count * each.units,
  calls: reads.calls + count * each.calls,
});
