import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';

const removeSchema = z.object({ Entries: z.array(z.object({ Id: z.string() })) });

const receiveSchema = z.object({
  QueueUrl: z.string(),
  MaxNumberOfMessages: z.number(),
  WaitTimeSeconds: z.number().default(0),
});

/** The ingress and the delivery queue of a stub of SQS. Other queues are empty. A message is received once. */
export function stubQueues({ longPolls }: { longPolls: boolean }) {
  const queues: Record<'ingress' | 'delivery', string[]> = { ingress: [], delivery: [] };
  let left = 0;
  let arrival = Promise.withResolvers<'arrived'>();
  return {
    add: (queue: keyof typeof queues, bodies: readonly string[]): void => {
      queues[queue].push(...bodies);
      left += bodies.length;
      arrival.resolve('arrived');
      arrival = Promise.withResolvers();
    },
    /** The bodies of the delivery queue that nothing received. */
    takeJobs: (): string[] => queues.delivery.splice(0),
    /** How many messages were added and not deleted. */
    left: (): number => left,
    /** Answers DeleteMessageBatch. */
    remove: (request: unknown): object => {
      const { Entries } = removeSchema.parse(request);
      left -= Entries.length;
      return { Successful: Entries, Failed: [] };
    },
    /** Answers ReceiveMessage. */
    receive: async (request: unknown): Promise<object> => {
      const { QueueUrl, MaxNumberOfMessages: most, WaitTimeSeconds } = receiveSchema.parse(request);
      const name = QueueUrl.endsWith('-ingress') ? 'ingress' : 'delivery';
      const waiting = QueueUrl.endsWith(`-${name}`) ? queues[name] : [];
      if (longPolls) {
        const late = setTimeout(WaitTimeSeconds * 1000, 'late', { ref: false });
        while (waiting.length === 0 && (await Promise.race([arrival.promise, late])) === 'arrived');
      }
      return { Messages: waiting.splice(0, most).map(messageOf) };
    },
  };
}

function messageOf(Body: string): object {
  const now = String(Date.now());
  const Attributes = {
    ApproximateReceiveCount: '1',
    SentTimestamp: now,
    SenderId: 'dispatch',
    ApproximateFirstReceiveTimestamp: now,
  };
  return { MessageId: randomUUID(), ReceiptHandle: randomUUID(), Body, Attributes };
}
