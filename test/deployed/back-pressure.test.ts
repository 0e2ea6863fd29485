import { describe, it } from 'vitest';
import * as z from 'zod';
import { metricNames } from '../../shared/config/metrics.ts';
import { subscriptionDeliverySchema } from '../../shared/wire/views/delivery.ts';
import { subscriptionViewSchema, type SubscriptionView } from '../../shared/wire/views/subscription.ts';
import { callApi } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { metricsOf } from '../support/emitted-metrics.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { operatorEvents } from '../support/operator-events.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publishMany } from '../support/sqs-messages.ts';
import { type SubscribedQueue, subscribedQueue } from '../support/subscribed-queue.ts';

const receiver = await receiverOfTests();
const eventOf = operatorEvents();
/** Without it, a listing looks through the hours of a whole day. */
const since = new Date().toISOString();

// Concurrent, because these tests mostly wait.
describe.concurrent('on the deployed system', () => {
  const listing = z.object({ deliveries: z.array(subscriptionDeliverySchema) });

  const pressureOn = async ({
    queue,
    subscriptionId,
  }: SubscribedQueue): Promise<SubscriptionView['backPressure']> => {
    const answer = await callApi('GET', `/v2/queues/${queue}/subscriptions/${subscriptionId}`);
    return subscriptionViewSchema.parse(await answer.json()).backPressure;
  };

  const deliveriesTo = async ({ queue, subscriptionId }: SubscribedQueue) => {
    const answer = await callApi(
      'GET',
      `/v2/queues/${queue}/subscriptions/${subscriptionId}/deliveries?limit=100&since=${since}`,
    );
    return listing.parse(await answer.json()).deliveries;
  };

  const ALLOWED = 5;
  const RETRY_AFTER_SECONDS = 4;

  /** Takes five requests in any second and answers the others with 429. The times of what it took. */
  const throttle = (path: string): readonly number[] => {
    const taken: number[] = [];
    receiver.script(path, ({ arrivedAt }) => {
      const isTaken = taken.filter((at) => at > arrivedAt - 1_000).length < ALLOWED;
      if (isTaken) taken.push(arrivedAt);
      return isTaken
        ? { status: 200 }
        : { status: 429, headers: { 'retry-after': `${RETRY_AFTER_SECONDS}` } };
    });
    return taken;
  };

  it('a subscriber that throttles gets every message, and what it refuses no sooner than it asks', async ({
    expect,
  }) => {
    const COUNT = 13;
    const subscribed = await subscribedQueue(receiver, {
      policy: { retry_on_status: [429] },
      options: { adapt_to_throttling: true },
    });
    const { queue, path } = subscribed;
    const taken = throttle(path);
    await publishMany(queue, COUNT);

    await eventually('all requests', () => Promise.resolve(taken.length >= COUNT ? true : undefined));
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

  it('twenty deliveries to a subscriber that is down, without switches, make three requests each', async ({
    expect,
  }) => {
    const [COUNT, EACH] = [20, 3];
    const policy = aBarePolicy({ retries_with_no_delay: 1, minimum_delay_retries: 1, minimum_delay: 2 });
    const { queue, path } = await subscribedQueue(receiver, { policy, answers: [{ status: 503 }] });
    await publishMany(queue, COUNT);

    const requests = await eventually('all requests', () => {
      const received = receiver.received(path);
      return Promise.resolve(received.length >= COUNT * EACH ? received : undefined);
    });
    const byMessage = Map.groupBy(requests, ({ headers }) => headers['webhook-id']);
    expect([...byMessage.values()].map(({ length }) => length)).toEqual(
      Array.from({ length: COUNT }, () => EACH),
    );
  });

  it('a subscriber that is down gets probes only, one at a time, while its deliveries wait; then it gets them all', async ({
    expect,
  }) => {
    const startedAt = Date.now();
    // Twice as many as open a circuit.
    const [FIRST, LATER] = [20, 3];
    const subscribed = await subscribedQueue(receiver, {
      policy: { retries_with_no_delay: 0, minimum_delay: 1, minimum_delay_retries: 30 },
      options: { hold_while_down: true },
      answers: [{ status: 503 }],
    });
    const { queue, path, subscriptionId } = subscribed;
    await publishMany(queue, FIRST);
    const opened = await eventually('an open circuit', () => pressureOn(subscribed));
    expect(opened).toMatchObject({ reason: 'circuit_open' });
    expect(opened).not.toHaveProperty('perSecond');
    await publishMany(queue, LATER, { prefix: 'later' });

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

    const refused = receiver.received(path).length;
    receiver.script(path, [{ status: 200 }]);
    await receiver.waitFor(path, refused + FIRST + LATER);
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
    await publishMany(queue, 1, { prefix: 'last' });
    const episode = { subscriptionId, reason: 'circuit_open', since: opened.since };
    for (const type of ['subscription.slowed', 'subscription.resumed'] as const)
      expect((await eventOf(queue, type)).detail).toMatchObject(episode);
    expect(await pressureOn(subscribed)).toBeUndefined();
    const metrics = metricsOf(await logLines([deployment.endpoints.functions.deliver], startedAt));
    expect(metrics.map(({ name }) => name)).toContain(metricNames.circuitsOpened);
  });
});
