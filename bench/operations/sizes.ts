import type { OperationTable, PathName } from '../../cli/commands/plan/model/operation-table.ts';
import type { CallLogEntry, Invocation } from '../../cli/local/call-log.ts';
import { ofPath, type PathRun } from './run-path.ts';
import type { System } from './system.ts';
import { isDelivery } from './tally.ts';

/** After each attempt, on average: the first write makes the item, a retry at once is one write more, any other two. */
export const itemSizes = ({ entries, policy }: PathRun): number[] => {
  const all = [...sizesByItem(entries).values()];
  const writes = Math.min(...all.map(({ length }) => length));
  const mean = (write: number): number =>
    Math.round(all.reduce((total, sizes) => total + (sizes[write] ?? 0), 0) / all.length);
  return recordingWrites(policy.retries_with_no_delay ?? 0, writes).map(mean);
};

const sizesByItem = (entries: readonly CallLogEntry[]): ReadonlyMap<string, number[]> => {
  const sizes = new Map<string, number[]>();
  for (const call of entries.filter((entry) => entry.kind === 'call').filter(isDelivery)) {
    const { item, itemBytes, writeUnits, refused } = call;
    if (item === undefined || itemBytes === undefined || writeUnits === undefined || refused === true)
      continue;
    sizes.set(item, [...(sizes.get(item) ?? []), itemBytes]);
  }
  return sizes;
};

/** Which of an item's writes, counted from 0, record an attempt. What comes after the last one pays what is owed. */
const recordingWrites = (atOnce: number, writes: number): number[] => {
  const recording = [1];
  for (let next = 2; next < writes - 1; next += recording.length <= atOnce ? 1 : 2) recording.push(next);
  return recording;
};

export const messageItemBytes = ({ entries }: PathRun): number =>
  Math.max(
    ...entries
      .filter((entry) => entry.kind === 'call')
      .filter(({ item, writeUnits }) => item?.endsWith(' MESSAGE') === true && writeUnits !== undefined)
      .map(({ itemBytes }) => itemBytes ?? 0),
  );

export const envelopes = (
  runs: readonly PathRun[],
  { endpoints }: System,
): OperationTable['envelopeBytes'] => {
  const record = (name: PathName, queueUrl: string): number => {
    const queue = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    const fed = ofPath(runs, name)
      .entries.filter((entry) => entry.kind === 'invocation')
      .filter((entry) => entry.queue?.endsWith(`:${queue}`) === true);
    const total = (value: (invocation: Invocation) => number): number =>
      fed.reduce((all, invocation) => all + value(invocation), 0);
    return Math.round(total(({ recordBytes }) => recordBytes) / total(({ records }) => records));
  };
  const { payloadBytes, requestEnvelopeBytes } = ofPath(runs, 'delivered');
  return {
    ingress: record('delivered', endpoints.ingressQueueUrl) - payloadBytes,
    job: record('delivered', endpoints.deliveryQueueUrl) - payloadBytes,
    wakeUp: record('retried_by_sqs', endpoints.retryQueueUrl),
    request: Math.round(requestEnvelopeBytes),
  };
};
