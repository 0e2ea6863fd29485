import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../support/chance.ts';
import type { System } from './deployed-system.ts';
import type { FaultLog } from './fault-proxy.ts';
import { QUEUES } from './subscribers.ts';

export type Published = { queue: string; messageId: string };

/** The probability that a message is published twice, as by a producer that got no response. */
const TWICE = 0.1;

/** Small batches with pauses, so that publishing lasts longer than the interval between two kills. */
const BATCH = 10;
const BATCH_INTERVAL_MS = 400;

/** Messages between two lines of progress. */
const PROGRESS_INTERVAL = 250;

/** Bytes of data: small enough for the job and the record, too large for the record, too large for the job. */
const SIZES = [
  { share: 0.94, bytes: 200 },
  { share: 0.05, bytes: 12_000 },
  { share: 0.01, bytes: 80_000 },
];

export const messagesFor = (count: number, chance: Chance): Published[] =>
  Array.from({ length: count }, (_, index) => ({
    queue: pickByShare(QUEUES, chance).queue,
    messageId: `m${index + 1}`,
  }));

type PublishContext = {
  chance: Chance;
  faults: FaultLog;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** Publishes the messages in small batches, some of them a second time a little later. */
export const publishAll = async (
  { sqs, endpoints }: System,
  messages: readonly Published[],
  { chance, faults, say, signal }: PublishContext,
): Promise<void> => {
  const bodies = messages.map(({ queue, messageId }) =>
    JSON.stringify({ queue, id: messageId, data: { text: 'x'.repeat(pickByShare(SIZES, chance).bytes) } }),
  );
  const again: string[] = [];
  for (let start = 0; start < bodies.length || again.length > 0; start += BATCH) {
    signal.throwIfAborted();
    if (start > 0 && start % PROGRESS_INTERVAL === 0)
      say(`${start} published; ${JSON.stringify(faults.counts())}`);
    const repeats = again.splice(0);
    const batch = bodies.slice(start, start + BATCH);
    again.push(...batch.filter(() => chance.happens(TWICE)));
    faults.count('published_twice', repeats.length);
    for (const some of [repeats, batch].filter(({ length }) => length > 0)) await send(some);
    await pause(BATCH_INTERVAL_MS, undefined, { signal });
  }

  async function send(some: readonly string[]): Promise<void> {
    const Entries = some.map((MessageBody, index) => ({ Id: String(index), MessageBody }));
    const { Failed = [] } = await sqs.send(
      new SendMessageBatchCommand({ QueueUrl: endpoints.ingressQueueUrl, Entries }),
    );
    if (Failed.length > 0) throw new Error(`SQS refused ${Failed.length} messages of a batch`);
  }
};

const pickByShare = <T extends { share: number }>(items: readonly T[], chance: Chance): T => {
  let left = chance.next();
  for (const item of items) {
    left -= item.share;
    if (left < 0) return item;
  }
  return chance.pick(items);
};
