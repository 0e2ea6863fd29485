import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { LambdaJournal } from '../../../shared/adapters/log/journal.ts';
import type { FirstJob, WakeUp } from '../../../shared/domain/delivery/job.ts';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { deliverOnLoopback } from '../../support/deliver-on-loopback.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { startReceiver, type Receiver } from '../../support/receiver.ts';

const ATTEMPT_TIMEOUT_MS = 1_500;
/** Ample for a request over loopback, and far below the timeout. */
const PROMPT_MS = 750;

describe('a batch of ten in which one subscriber hangs', () => {
  let receiver: Receiver;

  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  /** Delivers one message to each of ten subscriptions; the first receiver shows `behaviour`. */
  const deliverBatch = async (behaviour: 'hang' | undefined) => {
    const facts: { fact: Fact; at: number }[] = [];
    const wakeUps: WakeUp[] = [];
    const sentAgain: FirstJob[] = [];
    const journal = {
      note: (fact: Fact) => void facts.push({ fact, at: performance.now() }),
      fault: (error: unknown) => {
        throw error;
      },
      flush: () => undefined,
    } satisfies Partial<LambdaJournal>;
    const { environment, subscriptions } = deliverOnLoopback({
      journal,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      deliveryQueue: {
        send: (jobs) => {
          sentAgain.push(...jobs);
          return Promise.resolve();
        },
      },
      wakeUps: {
        sendDelayed: (wakeUp) => {
          wakeUps.push(wakeUp);
          return Promise.resolve();
        },
        schedule: () => Promise.resolve('scheduled'),
      },
    });
    await subscriptions.putQueue(aQueue());
    const ids = Array.from({ length: 10 }, (_, index) => `s-${index}`);
    const options = { _retry_policy: aBarePolicy({ minimum_delay_retries: 1 }) };
    for (const id of ids)
      await subscriptions.addSubscription(aSubscription({ id, subscriber: receiver.url(`/${id}`), options }));
    receiver.script('/s-0', [behaviour === undefined ? {} : { behaviour }]);

    const startedAt = performance.now();
    const response = await environment()(ids.map((id) => anSqsRecord(jobOf(id))));
    const tookMs = performance.now() - startedAt;
    const attempts = facts.flatMap(({ fact, at }) =>
      fact.fact === 'attempt_made' ? [{ ...fact.attempt, key: fact.key, recordedMs: at - startedAt }] : [],
    );
    return { response, tookMs, attempts, wakeUps, sentAgain };
  };

  it('calls the other nine at once, and is acknowledged as soon as the hanging attempt ends and its wake-up is scheduled', async () => {
    const { attempts, response, tookMs, wakeUps, sentAgain } = await deliverBatch('hang');
    const others = attempts.filter(({ key }) => key.subscriptionId !== 's-0');
    expect(others.map(({ outcome }) => outcome)).toEqual(Array(9).fill('delivered'));
    expect(Math.max(...others.map(({ recordedMs }) => recordedMs))).toBeLessThan(PROMPT_MS);
    expect(receiver.received()).toHaveLength(10);

    const hanging = attempts.find(({ key }) => key.subscriptionId === 's-0');
    expect(hanging).toMatchObject({ outcome: 'failed', error: 'timeout: before an answer' });
    expect(response).toEqual({ batchItemFailures: [] });
    expect(wakeUps).toMatchObject([{ attempt: 2, key: { subscriptionId: 's-0' } }]);
    expect(sentAgain).toEqual([]);
    expect(tookMs).toBeGreaterThanOrEqual(ATTEMPT_TIMEOUT_MS - 5);
    expect(tookMs - (hanging?.recordedMs ?? 0)).toBeLessThan(PROMPT_MS);
  });

  it('finishes quickly if no subscriber hangs', async () => {
    const { response, tookMs } = await deliverBatch(undefined);
    expect(response).toEqual({ batchItemFailures: [] });
    expect(tookMs).toBeLessThan(PROMPT_MS);
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
