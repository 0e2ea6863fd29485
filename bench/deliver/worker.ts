import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { runWorker, sqsQueues, composeSteps } from '../../worker/run.ts';
import { workerClock } from '../../worker/timing.ts';

/**
 * A worker for deliver, called as a function: it receives as many jobs as the event has from SQS, deletes them, and
 * returns. Its process time has the receives and deletions that Lambda does for a function.
 */

const { consuming } = composeSteps(['deliver'], process.env, {});
const openQueue = sqsQueues({}, workerClock);

export const handler = async ({ Records }: SQSEvent): Promise<{ batchItemFailures: object[] }> => {
  const ended = new AbortController();
  let left = Records.length;
  const steps = consuming.map((step) => ({
    ...step,
    handling: {
      ...step.handling,
      handleRecord: async (...[record, context]: Parameters<typeof step.handling.handleRecord>) => {
        await step.handling.handleRecord(record, context);
        left -= 1;
        if (left === 0) ended.abort();
      },
    },
  }));
  await runWorker({
    steps: { consuming: steps },
    limits: { receivers: 2, concurrency: 40, interval: {} },
    shutdownSeconds: 25,
    signal: ended.signal,
    clock: workerClock,
    openQueue,
  });
  return { batchItemFailures: Records.slice(0, left).map(failureOf) };
};

function failureOf({ messageId }: SQSRecord): object {
  return { itemIdentifier: messageId };
}
