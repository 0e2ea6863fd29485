import {
  inMemoryDeadLetters,
  inMemoryDeliveryQueue,
  inMemoryIngress,
  inMemoryUndeliverables,
  type PublishedMessage,
  inMemoryWakeUps,
} from '../support/in-memory/in-memory-queues.ts';
import { inMemoryPayloads } from '../support/in-memory/in-memory-messages.ts';
import { virtualClock } from '../support/in-memory/virtual-clock.ts';
import { modelledSqs, sideBySide } from '../support/modelled-sqs.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { describeDeadLettersContract } from './dead-letters.contract.ts';
import { describeDeliveryQueueContract } from './delivery-queue.contract.ts';
import { describeIngressContract } from './ingress.contract.ts';
import { describePayloadsContract } from './payloads.contract.ts';
import { describeUndeliverablesContract, type ReadNotice } from './undeliverables.contract.ts';
import { describeWakeUpsContract } from './wake-ups.contract.ts';

/** A queue in virtual time whose consumer records the arrivals. */
const observedQueue = <T>() => {
  const clock = virtualClock();
  const arrived: { value: T; at: number }[] = [];
  const queue = modelledSqs<T>({
    name: 'message',
    timeline: clock,
    visibilityMs: () => 180_000,
    consume: sideBySide(({ value }) => Promise.resolve(void arrived.push({ value, at: clock.now() }))),
  });
  const arrivals = async () => {
    await clock.run();
    return arrived;
  };
  return { clock, queue, now: () => clock.now(), arrivals };
};

describeDeliveryQueueContract('in memory', () => {
  const { queue, ...observed } = observedQueue<DeliveryJob>();
  return Promise.resolve({ ...observed, queue: inMemoryDeliveryQueue(queue) });
});

describeWakeUpsContract('in memory', () => {
  const { queue, ...observed } = observedQueue<WakeUp>();
  return Promise.resolve({ ...observed, wakeUps: inMemoryWakeUps(observed.clock, queue) });
});

describeIngressContract('in memory', () => {
  const { queue, now, arrivals } = observedQueue<PublishedMessage>();
  return Promise.resolve({
    ingress: inMemoryIngress(queue),
    now,
    arrivals: async () =>
      (await arrivals()).map(({ value: { body, attributes = {} }, at }) => ({ body, attributes, at })),
  });
});

describePayloadsContract('in memory', inMemoryPayloads);

describeDeadLettersContract('in memory', () => {
  const deadLetters = inMemoryDeadLetters();
  return Promise.resolve({
    deadLetters,
    sent: () =>
      Promise.resolve(deadLetters.sent.map(({ attributes = {}, ...letter }) => ({ ...letter, attributes }))),
  });
});

describeUndeliverablesContract('in memory', () => {
  const undeliverables = inMemoryUndeliverables();
  const payloads = inMemoryPayloads();
  const notices = () =>
    Promise.all(
      undeliverables.sent.map(async ({ delivery, body }): Promise<ReadNotice> => {
        const message = body?.kind === 'stored' ? await payloads.get(body.payloadKey) : body?.message;
        const { queue, messageId, subscriptionId } = delivery.key;
        return {
          queue,
          messageId,
          subscriptionId,
          status: delivery.status,
          reason: delivery.reason,
          attempts: delivery.attempts.length,
          data: message?.data,
        };
      }),
    );
  return Promise.resolve({ undeliverables, payloads, notices });
});
