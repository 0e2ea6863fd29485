import type { OperationTable } from '../../cli/commands/plan/tables.ts';
import type { Call, CallLogEntry } from '../../local/call-log.ts';
import { meanOf, sumOf } from '../harness/figures.ts';
import type { PathName } from './steps.ts';
import { ofPath, type PathRun, type System } from './run.ts';
import { isChunk, isDelivery, isFedBy } from './tally.ts';

/** Mean bytes of a DELIVERY item after each attempt. An attempt takes one more write after a retry at once, and two after another. */
export function itemSizes({ entries, policy }: PathRun): number[] {
  const all = [...sizesByItem(entries, isDelivery).values()];
  const writes = Math.min(...all.map(({ length }) => length));
  return recordingWrites(policy.retries_with_no_delay ?? 0, writes).map((write) =>
    Math.round(meanOf(all, (sizes) => sizes[write] ?? 0)),
  );
}

function sizesByItem(
  entries: readonly CallLogEntry[],
  isWanted: (call: Call) => boolean,
): ReadonlyMap<string, number[]> {
  const sizes = new Map<string, number[]>();
  for (const call of entries.filter((entry) => entry.kind === 'call').filter(isWanted)) {
    const { item, itemBytes, writeUnits, refused } = call;
    if (item === undefined || itemBytes === undefined || writeUnits === undefined || refused === true)
      continue;
    sizes.set(item, [...(sizes.get(item) ?? []), itemBytes]);
  }
  return sizes;
}

/** The writes, counted from 0, that record an attempt. The last write ends the pending steps. */
function recordingWrites(atOnce: number, writes: number): number[] {
  const recording = [1];
  for (let next = 2; next < writes - 1; next += recording.length <= atOnce ? 1 : 2) recording.push(next);
  return recording;
}

type Grown = OperationTable['chunkItemBytes']['claimed'];

/** Bytes of a CHUNK item after its first and its last write, by the line through two numbers of members. */
export function chunkSizes(few: PathRun, many: PathRun): OperationTable['chunkItemBytes'] {
  const line = (write: number): Grown =>
    lineThrough([few.fanOut, meanSize(few, write)], [many.fanOut, meanSize(many, write)]);
  return { claimed: line(0), recorded: line(-1) };
}

function meanSize({ entries }: PathRun, write: number): number {
  return meanOf([...sizesByItem(entries, isChunk).values()], (written) => written.at(write) ?? 0);
}

/** The height at no members, and the slope. */
function lineThrough(
  [few, ofFew]: readonly [members: number, bytes: number],
  [many, ofMany]: readonly [members: number, bytes: number],
): Grown {
  const member = (ofMany - ofFew) / (many - few);
  return { shared: ofFew - few * member, member };
}

export function messageItemBytes({ entries }: PathRun): number {
  return Math.max(
    ...entries
      .filter((entry) => entry.kind === 'call')
      .filter(({ item, writeUnits }) => item?.endsWith(' MESSAGE') === true && writeUnits !== undefined)
      .map(({ itemBytes }) => itemBytes ?? 0),
  );
}

export function envelopes(runs: readonly PathRun[], { endpoints }: System): OperationTable['envelopeBytes'] {
  const record = (name: PathName, queueUrl: string): number => {
    const fed = ofPath(runs, name)
      .entries.filter((entry) => entry.kind === 'invocation')
      .filter(isFedBy(queueUrl));
    return Math.round(sumOf(fed, ({ recordBytes }) => recordBytes) / sumOf(fed, ({ records }) => records));
  };
  const { payloadBytes, requestEnvelopeBytes } = ofPath(runs, 'delivered');
  const chunkJob = (name: 'delivered_two' | 'delivered_ten') => {
    const { fanOut } = ofPath(runs, name);
    return [fanOut, record(name, endpoints.deliveryQueueUrl) - payloadBytes] as const;
  };
  return {
    ingress: record('delivered', endpoints.ingressQueueUrl) - payloadBytes,
    job: record('delivered', endpoints.deliveryQueueUrl) - payloadBytes,
    chunkJob: lineThrough(chunkJob('delivered_two'), chunkJob('delivered_ten')),
    wakeUp: record('retried_by_sqs', endpoints.retryQueueUrl),
    request: Math.round(requestEnvelopeBytes),
  };
}
