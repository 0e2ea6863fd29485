import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { encodeWakeUp } from '../../shared/wire/jobs/delivery-job.ts';
import { type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  callApi,
  deliveriesOf,
  deliveryPath,
  finishedDeliveries,
  finishedDelivery,
  isOver,
  putQueue,
  subscribe,
  subscribeAll,
} from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, send } from '../support/sqs-messages.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

const retries = (count: number, seconds: number) =>
  aBarePolicy({ minimum_delay_retries: count, minimum_delay: seconds, maximum_delay: seconds });

const receiver = await receiverOfTests();

const callAction = async (delivery: DeliveryView, action: 'retry' | 'cancel') => {
  const response = await callApi('POST', `${deliveryPath(delivery)}/${action}`);
  return { status: response.status, body: await response.json() };
};

/** Waits until `count` deliveries of message `m` have a next attempt, and returns them. */
const waiting = (queue: string, count: number): Promise<DeliveryView[]> =>
  eventually(`${count} deliveries with a next attempt`, async () => {
    const found = (await deliveriesOf(queue, 'm'))?.filter(
      ({ nextAttemptAt }) => nextAttemptAt !== undefined,
    );
    return found?.length === count ? found : undefined;
  });

describe.concurrent('manual retry and cancellation on the deployed system', () => {
  it('makes each attempt once in ten races between a manual and an automatic retry', async () => {
    const queue = `race-${randomUUID()}`;
    await putQueue(queue, retries(1, 2));
    const paths = Array.from({ length: 10 }, (_, index) => `/${queue}/${index}`);
    for (const path of paths) receiver.script(path, [{ status: 503 }, { status: 200 }]);
    await subscribeAll(
      queue,
      paths.map((path) => receiver.url(path)),
    );

    /** Retries manually at the due time of the automatic retry, or at once if that is already over. */
    const race = async (delivery: DeliveryView): Promise<number> => {
      const dueAt = delivery.nextAttemptAt === undefined ? 0 : Date.parse(delivery.nextAttemptAt);
      await sleep(Math.max(0, dueAt - Date.now()));
      return (await callAction(delivery, 'retry')).status;
    };
    await publish({ queue, id: 'm', data: 1 });
    const races = new Map<string, Promise<number>>();
    await eventually('ten races', async () => {
      for (const delivery of (await deliveriesOf(queue, 'm')) ?? [])
        if ((delivery.nextAttemptAt !== undefined || isOver(delivery)) && !races.has(delivery.subscriptionId))
          races.set(delivery.subscriptionId, race(delivery));
      return races.size === paths.length ? races : undefined;
    });
    // 409 where the automatic retry came first and is in progress.
    for (const status of await Promise.all(races.values())) expect([202, 409]).toContain(status);

    const deliveries = await finishedDeliveries(queue, 'm', paths.length);
    for (const { attempts } of deliveries) {
      // A retry after the success starts another round. The first round contains each attempt once.
      expect(attempts.filter(({ round }) => round === 1).map(({ number }) => number)).toEqual([1, 2]);
      expect(attempts.map(({ number }) => number)).toEqual(attempts.map((_, index) => index + 1));
    }
    const expected = deliveries.reduce((sum, { attempts }) => sum + attempts.length, 0);
    expect(paths.reduce((sum, path) => sum + receiver.received(path).length, 0)).toBe(expected);
  });

  it('makes an attempt at once that EventBridge Scheduler would start in ten minutes', async () => {
    const answers = [{ status: 503 }, { status: 200 }] as const;
    const { queue, path } = await subscribedQueue(receiver, { policy: retries(1, 600), answers });
    await publish({ queue, id: 'm', data: 1 });
    const [delivery] = await waiting(queue, 1);
    if (delivery === undefined) throw new Error('no delivery has a next attempt');
    expect(delivery.nextAttempt?.by).toBe('scheduler');

    expect((await callAction(delivery, 'retry')).status).toBe(202);
    expect(await finishedDeliveries(queue, 'm', 1)).toMatchObject([{ status: 'delivered' }]);
    expect(receiver.received(path)).toHaveLength(2);
  });

  it('makes no further request after a cancellation, even after a stray wake-up', async () => {
    const answers = [{ status: 503 }] as const;
    // So many retries that a slow machine cancels before the last one.
    const { queue, path } = await subscribedQueue(receiver, { policy: retries(60, 5), answers });
    const other = `${path}/other`;
    receiver.script(other, answers);
    await publish({ queue, id: 'm', data: 1 });
    const [delivery] = await waiting(queue, 1);
    if (delivery === undefined) throw new Error('no delivery has a next attempt');

    expect(await callAction(delivery, 'cancel')).toMatchObject({
      status: 200,
      body: { status: 'cancelled', reason: 'manual' },
    });
    const made = (await finishedDelivery(queue, 'm')).attempts.length;
    const { messageId, subscriptionId } = delivery;
    const key = { queue, messageId, subscriptionId, bucket: 0 };
    const wakeUp = encodeWakeUp({ kind: 'wake_up', key, attempt: made + 1, dueAt: Date.now() });
    await send(deployment.endpoints.retryQueueUrl, wakeUp);

    // The retry of another, later delivery shows that the retry of the cancelled one would have been made.
    await subscribe(queue, receiver.url(other));
    await publish({ queue, id: 'later', data: 1 });
    await receiver.waitFor(other, 2);
    expect(receiver.received(path).filter(({ body }) => String(body).includes('"id":"m"'))).toHaveLength(
      made,
    );
    expect(await callAction(delivery, 'cancel')).toMatchObject({ status: 409 });
  });
});
