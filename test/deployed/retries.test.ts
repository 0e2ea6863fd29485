import { describe, expect, it } from 'vitest';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { encodeWakeUp } from '../../shared/wire/jobs/delivery-job.ts';
import { finishedDelivery } from '../support/api-client.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import type { Answer } from '../support/receiver.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send, taken } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const receiver = await receiverOfTests();

type Scenario = {
  answers: readonly [Answer, ...Answer[]];
  queuePolicy?: PartialRetryPolicy;
  policy?: PartialRetryPolicy;
  /** Seconds before the first attempt. */
  delay?: number;
};

/** Publishes one message to one subscriber and waits until its delivery has finished. */
const delivered = async ({ answers, queuePolicy, policy, delay = 0 }: Scenario) => {
  const subscribed = await subscribedQueue(receiver, {
    answers,
    ...(queuePolicy && { policy: queuePolicy }),
    ...(policy && { options: { _retry_policy: policy } }),
  });
  const { queue, path } = subscribed;
  await publish({ queue, id: 'm', data: { queue }, delay });
  const delivery = await finishedDelivery(queue, 'm');
  return { ...subscribed, delivery, requests: receiver.received(path) };
};

/**
 * Each retry: by what it was started, and its delay since the end of the attempt before it. Its request came no earlier.
 * How late requests are depends on the machine, and is measured by bench:lateness.
 */
const startsOf = ({ delivery, requests }: Awaited<ReturnType<typeof delivered>>) =>
  delivery.attempts.slice(1).map(({ by, dueAt = '' }, index) => {
    const failed = delivery.attempts[index];
    const retry = requests[index + 1];
    if (failed === undefined || retry === undefined) throw new Error(`retry ${index + 1} was not made`);
    expect(retry.arrivedAt).toBeGreaterThanOrEqual(Date.parse(dueAt));
    return [by, Math.round((Date.parse(dueAt) - Date.parse(failed.startedAt) - failed.durationMs) / 1000)];
  });

// Concurrent, because these tests mostly wait.
describe.concurrent('a delivery on the deployed system', () => {
  it('follows the four-phase schedule, with no retry early', async () => {
    const made = await delivered({
      answers: [{ status: 503 }],
      policy: {
        retries_with_no_delay: 2,
        minimum_delay_retries: 1,
        minimum_delay: 1,
        backoff_retries: 3,
        maximum_delay: 3,
        maximum_delay_retries: 1,
        retry_backoff_function: 'linear',
      },
      // Waits for the other concurrent tests to subscribe and for the functions to start.
      delay: 4,
    });
    const { delivery, requests } = made;

    expect(delivery.status).toBe('exhausted');
    expect(requests).toHaveLength(8);
    expect(delivery.attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      ...Array<string>(2).fill('immediate'),
      'pre_backoff',
      ...Array<string>(3).fill('backoff'),
      'post_backoff',
    ]);
    // By the retry queue after a slow attempt (docs/retry-policy.md#from-delay-to-wake-up), as on a busy machine.
    const immediate = delivery.attempts
      .slice(0, 2)
      .map(({ durationMs }) => [durationMs < 2_000 ? 'same_invocation' : 'sqs_delay', 0]);
    expect(startsOf(made)).toEqual([
      ...immediate,
      ['sqs_delay', 1],
      ['sqs_delay', 1],
      ['sqs_delay', 2],
      ['sqs_delay', 3],
      ['sqs_delay', 3],
    ]);
  });

  it('stops at the first success and ignores a duplicate message and late wake-ups', async () => {
    const { queue, path, subscriptionId, delivery } = await delivered({
      answers: [{ status: 503 }, { status: 503 }, { status: 200 }],
      policy: { ...NO_RETRIES, minimum_delay_retries: 5, minimum_delay: 1 },
    });
    expect(delivery).toMatchObject({
      status: 'delivered',
      attempts: [{}, {}, { number: 3, outcome: 'delivered' }],
    });

    const { retryQueueUrl } = deployment.endpoints;
    const key = { queue, messageId: 'm', subscriptionId, bucket: 0 };
    for (const attempt of [2, 3, 4]) {
      await send(retryQueueUrl, encodeWakeUp({ kind: 'wake_up', key, attempt, dueAt: Date.now() }));
    }
    // A later message to the same subscriber shows that the wake-ups were processed.
    await publish({ queue, id: 'after', data: 1 });
    await finishedDelivery(queue, 'after');
    await publish({ queue, id: 'm', data: { queue } });
    await publish({ queue, id: 'last', data: 1 });
    await finishedDelivery(queue, 'last');

    const ids = receiver.received(path).map(({ headers }) => headers['webhook-id']);
    expect(ids.filter((id) => id === 'm')).toHaveLength(3);
  });

  it('is retried by EventBridge Scheduler when the delay is long', async () => {
    const made = await delivered({
      answers: [{ status: 503 }, { status: 200 }],
      // Far above the threshold of 5 s, which counts from when the retry is scheduled: late on a busy machine.
      policy: { ...NO_RETRIES, minimum_delay_retries: 1, minimum_delay: 14, maximum_delay: 14 },
    });

    expect(made.delivery.status).toBe('delivered');
    expect(startsOf(made)).toEqual([['scheduler', 14]]);
  });

  it('is not retried after a 302, and goes to the undeliverable queue', async () => {
    const { queue, delivery, requests } = await delivered({
      answers: [{ status: 302, headers: { location: receiver.url('/elsewhere') } }],
    });

    expect(delivery).toMatchObject({ status: 'rejected', reason: 'http_302' });
    expect(requests).toHaveLength(1);
    const notice = await taken(deployment.endpoints.undeliverableQueueUrl, ({ Body = '' }) =>
      Body.includes(queue),
    );
    expect(JSON.parse(notice.Body ?? '')).toMatchObject({
      queue,
      messageId: 'm',
      status: 'rejected',
      data: { queue },
    });
    expect(receiver.received('/elsewhere')).toHaveLength(0);
  });
});
