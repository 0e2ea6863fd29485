import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Fact } from '../../../shared/ports/journal.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { deliverOnLoopback, type OnLoopback } from '../../support/deliver-on-loopback.ts';
import { startReceiver, type Receiver } from '../../support/receiver.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

describe('a batch of ten in which one subscriber hangs', () => {
  let receiver: Receiver;

  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  /** Delivers one message to each of ten subscriptions; the first receiver shows `behaviour`. */
  const deliverBatch = async (attemptTimeoutMs: number, behaviour?: 'hang') => {
    const facts: Fact[] = [];
    const sendAgain = vi.fn<OnLoopback['deliveryQueue']['send']>().mockResolvedValue();
    const wake = vi.fn<OnLoopback['wakeUps']['sendDelayed']>().mockResolvedValue();
    const { environment, subscriptions } = deliverOnLoopback({
      journal: {
        note: (fact) => void facts.push(fact),
        fault: (error) => {
          throw error;
        },
        flush: () => undefined,
      },
      attemptTimeoutMs,
      deliveryQueue: { send: sendAgain },
      wakeUps: { sendDelayed: wake, schedule: () => Promise.resolve('scheduled') },
    });
    await subscriptions.putQueue(aQueue());
    const ids = Array.from({ length: 10 }, (_, index) => `s-${index}`);
    const options = { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) };
    for (const id of ids)
      await subscriptions.addSubscription(aSubscription({ id, subscriber: receiver.url(`/${id}`), options }));
    receiver.script('/s-0', [behaviour === undefined ? {} : { behaviour }]);

    const response = await environment()(ids.map((id) => anSqsRecord(jobOf(id))));
    const attempts = facts.flatMap((fact) =>
      fact.fact === 'attempt_made' ? [{ ...fact.attempt, key: fact.key }] : [],
    );
    return { response, attempts, wake, sendAgain };
  };

  it('calls the other nine meanwhile, and is acknowledged when the wake-up of the hanging one is scheduled', async () => {
    const { attempts, response, wake, sendAgain } = await deliverBatch(1_500, 'hang');
    // In the order in which they ended.
    expect(attempts.map(({ outcome }) => outcome)).toEqual([...Array<string>(9).fill('delivered'), 'failed']);
    expect(attempts[9]).toMatchObject({
      result: { kind: 'unanswered', error: 'timeout', detail: 'before an answer' },
      key: { subscriptionId: 's-0' },
    });
    expect(receiver.received()).toHaveLength(10);
    expect(response).toEqual({ batchItemFailures: [] });
    expect(wake.mock.calls).toMatchObject([[{ attempt: 2, key: { subscriptionId: 's-0' } }, 5]]);
    expect(sendAgain).not.toHaveBeenCalled();
  });

  it('does not wait for the timeout if no subscriber hangs', async () => {
    // Longer than the test may take.
    const { response, attempts } = await deliverBatch(60_000);
    expect(response).toEqual({ batchItemFailures: [] });
    expect(attempts).toHaveLength(10);
  });
});

const jobOf = (subscriptionId: string): string => {
  const message = aMessage();
  return encodeFirstJob({
    kind: 'job',
    key: { queue: message.queue, messageId: message.id, subscriptionId, bucket: 0 },
    attempt: 1,
    acceptedAt: Date.now(),
    body: { kind: 'inline', message },
  });
};
