import { s3Client, s3Payloads } from '../../shared/adapters/s3/payloads.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { addSubscription } from './add-subscription.ts';
import { aQueue, aSubscription } from './builders.ts';
import { deliverOnLoopback } from './deliver-on-loopback.ts';
import { peakMemoryBytes } from './peak-memory.ts';
import { anSqsRecord } from './sqs-event.ts';

/**
 * Runs the deliver function with a batch of large messages in a separate process, so that its memory can be
 * measured. Prints the peak memory and the number of failed messages.
 */
const [s3 = '', receiver = '', jobs = '', members = ''] = process.argv.slice(2);

const MINUTE = 60_000;

const faults: string[] = [];
const journal = {
  note: () => undefined,
  fault: (error: unknown) => void faults.push(String(error)),
  flush: () => undefined,
};
const sentAgain: unknown[] = [];
const sendAgain = (again: unknown): Promise<void> => {
  sentAgain.push(again);
  return Promise.resolve();
};
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const client = s3Client({ endpoint: s3, region: 'us-east-1', credentials, forcePathStyle: true });
const { environment, subscriptions } = deliverOnLoopback({
  journal,
  // Only memory is measured: on a busy machine the time of a real invocation may run out.
  attemptTimeoutMs: 10 * MINUTE,
  invocationLastsMs: 60 * MINUTE,
  payloads: s3Payloads(client, 'payloads'),
  deliveryQueue: { send: sendAgain },
  wakeUps: { sendDelayed: sendAgain, schedule: () => Promise.resolve('scheduled') },
});
await subscriptions.putQueue(aQueue());
const ids = Array.from({ length: Number(members) }, (_, index) => `s-${index}`);
for (const id of ids)
  await addSubscription(subscriptions, aSubscription({ id, subscriber: `${receiver}/${id}` }));

const jobOf = (index: number): string =>
  encodeFirstJob({
    kind: 'chunk',
    key: { queue: 'orders', messageId: `m-${index}`, bucket: 0, chunk: 0 },
    subscriptionIds: ids,
    acceptedAt: Date.now(),
    body: { kind: 'stored', payloadKey: `orders/m-${index}/digest` },
  });
const records = Array.from({ length: Number(jobs) }, (_, index) => anSqsRecord(jobOf(index)));
const { batchItemFailures } = await environment()(records);
const peakMegabytes = Math.round(peakMemoryBytes() / 2 ** 20);
process.stdout.write(
  JSON.stringify({ peakMegabytes, failed: batchItemFailures.length, sentAgain: sentAgain.length, faults }),
);
process.exit(0);
