import { beforeEach, describe, expect, it } from 'vitest';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aSubscription } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: LimitedWorld['world'];
let startedAt: LimitedWorld['startedAt'];
let subscribe: LimitedWorld['subscribe'];
let publish: LimitedWorld['publish'];
let requestedAt: LimitedWorld['requestedAt'];
let deliveryOf: LimitedWorld['deliveryOf'];
let limitTo: LimitedWorld['limitTo'];

beforeEach(async () => {
  ({ world, startedAt, subscribe, publish, requestedAt, deliveryOf, limitTo } = await limitedWorld());
});

/** 200 that wait for 0.1 requests a second: the last of them for 2,090 s. */
const longLine = async (): Promise<void> => {
  await subscribe(0.1);
  for (let index = 0; index < 200; index += 1) {
    await publish(1, index);
    await world.clock.run(startedAt + index);
  }
  await world.clock.run(startedAt + 10_000);
};

const mostInTenSeconds = (): number =>
  Math.max(...requestedAt().map((from) => requestedAt().filter((at) => at >= from && at < from + 10).length));

const requestedMessages = (): string[] =>
  world.subscriber.seen.map(({ request }) => request.headers['webhook-id'] ?? '');

describe('when the limit of a subscription rises, what waits in its line', () => {
  it('moves up, as fast as the new limit allows and in the order in which it waited', async () => {
    await longLine();
    await limitTo(10);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(35);
    expect(mostInTenSeconds()).toBeLessThanOrEqual(105);
    // The next in the line were about to go by themselves.
    const others = requestedMessages().filter((id) => id !== 'm0' && id !== 'm1');
    expect(others).toEqual(Array.from({ length: 198 }, (_, index) => `m${index + 2}`));
  });

  it('goes at once where there is no limit any more, and leaves no schedule behind', async () => {
    await longLine();
    await limitTo();
    await world.clock.run(startedAt + 15_000);

    expect(requestedAt()).toHaveLength(200);
    expect(world.schedules.filter(({ at }) => at > world.clock.now())).toEqual([]);
  });

  it('shares the line with what comes after it', async () => {
    await longLine();
    await limitTo(2);
    await publish(100, 200);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(300);
    expect(requestedAt().at(-1)).toBeLessThan(180);
    expect(mostInTenSeconds()).toBeLessThanOrEqual(21);
  });

  it('moves up as well where it is further ahead than SQS delays a message', async () => {
    await subscribe(0.01);
    await publish(100);
    await world.clock.run(startedAt + 10_000);
    await limitTo(0.02);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(100);
    expect(requestedAt().at(-1)).toBeLessThan(5_100);
  });

  it('moves up though it was put in the line as it was before, by an attempt under way at the change', async () => {
    await longLine();
    const { rateLimits, clock } = world;
    const { ports } = world.deliverContext;
    ports.rateLimits = {
      ...rateLimits,
      reserve: async (...asked) => {
        const slot = await rateLimits.reserve(...asked);
        await clock.sleep(2_000);
        return slot;
      },
    };
    await publish(1, 200);
    await clock.run(clock.now() + 1_000);
    ports.rateLimits = rateLimits;
    await limitTo(10);
    await clock.run();

    expect(requestedMessages().at(-1)).toBe('m200');
    expect(requestedAt().at(-1)).toBeLessThan(80);
  });

  it('does not wait by a lower limit than its subscription shows: one that operate is not told of does not rise', async () => {
    await longLine();
    const { operations } = limitTo;
    const send = operations.send.bind(operations);
    operations.send = () => Promise.reject(new Error('SQS is away'));
    await expect(limitTo(10)).rejects.toThrow('SQS is away');
    const found = await world.subscriptions.findSubscription('orders', 'subscription-1');
    operations.send = send;
    await limitTo(10);
    await world.clock.run();

    expect(found?.options.max_per_second).toBe(0.1);
    expect(requestedAt().at(-1)).toBeLessThan(35);
  });

  it('moves up a minute later where operate came before the change was made', async () => {
    await longLine();
    const { clock, subscriptions } = world;
    const change = subscriptions.changeSubscription.bind(subscriptions);
    subscriptions.changeSubscription = async (...asked) => {
      await clock.sleep(5_000);
      return change(...asked);
    };
    const changed = limitTo(10);
    await clock.run();
    await changed;

    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(100);
  });

  it('leaves the place to others that it would have had, where it was cancelled meanwhile', async () => {
    await longLine();
    const { deliveries } = world;
    const write = deliveries.write.bind(deliveries);
    deliveries.write = async (transition) => {
      const isLeaving = transition.name === 'move_up' && Number(transition.key.messageId.slice(1)) % 2 === 0;
      if (isLeaving) await cancelDelivery(world.byHandContext, transition.key, 'manual');
      return write(transition);
    };
    await limitTo(1);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(101);
    expect(requestedAt().at(-1)).toBeLessThan(130);
  });

  it.each([
    ['rises', 10],
    ['goes', undefined],
  ])('waits for its delay all the same where it is a retry and the limit %s', async (_, limit) => {
    const policy = { minimum_delay_retries: 1, minimum_delay: 60, maximum_delay: 60 };
    world.subscriber.script(aSubscription().subscriber, [status(503)]);
    await subscribe(0.1, aBarePolicy(policy));
    await publish(100);
    await world.clock.run(startedAt + 100_000);
    const standing = await deliveryOf('m5');
    await limitTo(limit, policy);
    await world.clock.run();

    expect(standing).toMatchObject({ status: 'retrying', slot: { from: expect.any(Number) as number } });
    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(190);
    for (let index = 0; index < 100; index += 1) {
      const [first, retry] = (await deliveryOf(`m${index}`)).attempts;
      expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(60_000);
    }
  });

  it('goes when it was to go before where it could not be moved, and keeps nobody else back', async () => {
    await longLine();
    const { deliveries } = world;
    const write = deliveries.write.bind(deliveries);
    deliveries.write = (transition) =>
      transition.name === 'move_up' && transition.key.messageId === 'm50'
        ? Promise.reject(new Error('DynamoDB is away'))
        : write(transition);
    await limitTo(10);
    await world.clock.run();

    expect(requestedAt().at(-2)).toBeLessThan(35);
    expect(requestedMessages().at(-1)).toBe('m50');
    expect(requestedAt()).toHaveLength(200);
  });
});

describe('when the limit of a subscription falls', () => {
  it('nothing of its line is lost or too fast, and operate is not asked', async () => {
    await subscribe(10);
    await publish(100);
    await world.clock.run(startedAt + 1_000);
    let orders = 0;
    limitTo.operations.send = () => {
      orders += 1;
      return Promise.resolve();
    };
    await limitTo(1);
    await world.clock.run();

    const later = requestedAt().filter((at) => at > 2.5);
    const most = Math.max(...later.map((from) => later.filter((at) => at >= from && at < from + 10).length));
    expect(requestedAt()).toHaveLength(100);
    expect(most).toBeLessThanOrEqual(11);
    expect(orders).toBe(0);
  });
});

describe('when deliveries leave a line', () => {
  const cancel = async (from: number, to: number): Promise<void> => {
    for (let index = from; index < to; index += 1)
      await cancelDelivery(world.byHandContext, (await deliveryOf(`m${index}`)).key, 'manual');
  };

  it('the last in it take their places', async () => {
    await longLine();
    await cancel(10, 199);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(11);
    expect(requestedAt().at(-1)).toBeLessThan(120);
  });

  it('nobody else is called sooner than the limit allows', async () => {
    await subscribe(1);
    await publish(100);
    await world.clock.run(startedAt + 5_500);
    await cancel(20, 60);
    await publish(40, 100);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(100);
    expect(requestedAt().at(-1)).toBeLessThan(105);
    expect(mostInTenSeconds()).toBeLessThanOrEqual(11);
  });
});
