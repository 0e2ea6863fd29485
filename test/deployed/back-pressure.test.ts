import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it } from 'vitest';
import * as z from 'zod';
import { openOperatorInbox, type OperatorInbox } from '../../local/operator-inbox.ts';
import { eventBridgeClient } from '../../shared/adapters/eventbridge/operator-events.ts';
import { metricNames } from '../../shared/config/metrics.ts';
import type { OperatorEventMessage } from '../../shared/wire/events/operator-event.ts';
import { subscriptionDeliverySchema } from '../../shared/wire/views/delivery.ts';
import { subscriptionViewSchema, type SubscriptionView } from '../../shared/wire/views/subscription.ts';
import { callApi, putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { metricsOf } from '../support/emitted-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { sendTogether } from '../support/sqs-messages.ts';

let receiver: Receiver;
let inbox: OperatorInbox;

beforeAll(async () => {
  receiver = await startReceiver();
  inbox = await openOperatorInbox(
    { eventBridge: eventBridgeClient(deployment.client), sqs: deployment.sqs },
    deployment.endpoints.operatorEventBus,
  );
});

afterAll(async () => {
  await inbox.close();
  await receiver.close();
});

/** In batches of ten, the most that SQS takes. */
const publish = async (queue: string, name: string, count: number): Promise<void> => {
  const bodies = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ queue, id: `${name}-${index}`, data: index }),
  );
  for (let sent = 0; sent < count; sent += 10)
    await sendTogether(deployment.endpoints.ingressQueueUrl, bodies.slice(sent, sent + 10));
};

// Concurrent, because these tests mostly wait.
describe.concurrent('on the deployed system', () => {
  const listing = z.object({ deliveries: z.array(subscriptionDeliverySchema) });

  type Subscribed = { queue: string; id: string };

  const pressureOn = async ({ queue, id }: Subscribed): Promise<SubscriptionView['backPressure']> => {
    const answer = await callApi('GET', `/v2/queues/${queue}/subscriptions/${id}`);
    return subscriptionViewSchema.parse(await answer.json()).backPressure;
  };

  const deliveriesTo = async ({ queue, id }: Subscribed) => {
    const answer = await callApi('GET', `/v2/queues/${queue}/subscriptions/${id}/deliveries?limit=100`);
    return listing.parse(await answer.json()).deliveries;
  };

  const ALLOWED = 5;
  const RETRY_AFTER_SECONDS = 4;

  /** Takes five requests in any second and answers the others with 429. */
  const throttle = (path: string): void => {
    const taken: number[] = [];
    receiver.script(path, ({ arrivedAt }) => {
      const isTaken = taken.filter((at) => at > arrivedAt - 1_000).length < ALLOWED;
      if (isTaken) taken.push(arrivedAt);
      return isTaken
        ? { status: 200 }
        : { status: 429, headers: { 'retry-after': `${RETRY_AFTER_SECONDS}` } };
    });
  };

  it('a subscriber that throttles gets every message, and what it refuses no sooner than it asks', async ({
    expect,
  }) => {
    const COUNT = 13;
    const queue = `throttled-${randomUUID()}`;
    const path = `/${queue}`;
    await putQueue(queue, { retry_on_status: [429] });
    const subscribed = {
      queue,
      id: await subscribe(queue, receiver.url(path), { adapt_to_throttling: true }),
    };
    throttle(path);
    await publish(queue, 'one', COUNT);

    await eventually('all deliveries', async () => {
      const ended = (await deliveriesTo(subscribed)).filter(({ status }) => status === 'delivered');
      return ended.length === COUNT ? true : undefined;
    });
    const byMessage = Map.groupBy(receiver.received(path), ({ headers }) => headers['webhook-id']);
    const gaps = [...byMessage.values()].flatMap((own) =>
      own.slice(1).map(({ arrivedAt }, index) => arrivedAt - (own[index]?.arrivedAt ?? NaN)),
    );
    expect(gaps.length).toBeGreaterThan(0);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1_000);
  });

  it('200 deliveries to a subscriber that is down, without switches, make three requests each', async ({
    expect,
  }) => {
    const [COUNT, EACH] = [200, 3];
    const queue = `policy-alone-${randomUUID()}`;
    const path = `/${queue}`;
    await putQueue(queue, {
      retries_with_no_delay: 1,
      minimum_delay_retries: 1,
      minimum_delay: 2,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    });
    await subscribe(queue, receiver.url(path));
    receiver.script(path, [{ status: 503 }]);
    await publish(queue, 'one', COUNT);

    const requests = await eventually('all requests', () => {
      const received = receiver.received(path);
      return Promise.resolve(received.length >= COUNT * EACH ? received : undefined);
    });
    const byMessage = Map.groupBy(requests, ({ headers }) => headers['webhook-id']);
    expect([...byMessage.values()].map(({ length }) => length)).toEqual(
      Array.from({ length: COUNT }, () => EACH),
    );
  });

  const events: OperatorEventMessage[] = [];

  const eventOf = (queue: string, type: OperatorEventMessage['detail-type']): Promise<OperatorEventMessage> =>
    eventually(`${type} of ${queue}`, async () => {
      events.push(...(await inbox.take()));
      return events.find((event) => event['detail-type'] === type && event.detail.queue === queue);
    });

  it('a subscriber that is down gets probes only, one at a time, while its deliveries wait; then it gets them all', async ({
    expect,
  }) => {
    const startedAt = Date.now();
    const [FIRST, LATER] = [40, 3];
    const queue = `down-${randomUUID()}`;
    const path = `/${queue}`;
    await putQueue(queue, {
      retries_with_no_delay: 0,
      minimum_delay: 1,
      minimum_delay_retries: 30,
    });
    const subscribed = {
      queue,
      id: await subscribe(queue, receiver.url(path), { hold_while_down: true }),
    };
    receiver.script(path, [{ status: 503 }]);
    await publish(queue, 'first', FIRST);
    const { since, ...opened } = await eventually('an open circuit', () => pressureOn(subscribed));
    expect(opened).toMatchObject({ reason: 'circuit_open' });
    expect(opened).not.toHaveProperty('perSecond');
    await publish(queue, 'later', LATER);

    await eventually('waiting deliveries', async () => {
      const waiting = (await deliveriesTo(subscribed)).filter(({ waiting: why }) => why === 'circuit_open');
      const untried = waiting.filter(({ attemptCount }) => attemptCount === 0);
      // All but the one that probes.
      return waiting.length >= FIRST + LATER - 1 && untried.length >= LATER - 1 ? true : undefined;
    });
    const untilAllWait = receiver.received(path).length;
    await eventually('a probe', () =>
      Promise.resolve(receiver.received(path).length > untilAllWait ? true : undefined),
    );
    // The other deliveries asked several times in this half minute.
    expect(receiver.received(path).length).toBe(untilAllWait + 1);

    receiver.script(path, [{ status: 200 }]);
    const ended = await eventually('all deliveries', async () => {
      const all = await deliveriesTo(subscribed);
      const delivered = all.filter(({ status }) => status === 'delivered');
      return delivered.length === FIRST + LATER ? delivered : undefined;
    });
    const attempts = ended.reduce((sum, { attemptCount }) => sum + attemptCount, 0);
    expect(attempts).toBe(receiver.received(path).length);

    await eventually('the end of the ramp', async () =>
      (await pressureOn(subscribed)) === undefined ? true : undefined,
    );
    await publish(queue, 'last', 1);
    const episode = { subscriptionId: subscribed.id, reason: 'circuit_open', since };
    for (const type of ['subscription.slowed', 'subscription.resumed'] as const)
      expect((await eventOf(queue, type)).detail).toMatchObject(episode);
    expect(await pressureOn(subscribed)).toBeUndefined();
    const metrics = metricsOf(await logLines([deployment.endpoints.functions.deliver], startedAt));
    expect(metrics.map(({ name }) => name)).toContain(metricNames.circuitsOpened);
  });
});
