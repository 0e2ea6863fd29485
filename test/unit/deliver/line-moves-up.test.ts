import { beforeEach, describe, expect, it } from 'vitest';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, SUBSCRIBER_URL } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld, mostInTenSeconds } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: LimitedWorld['world'];
let startedAt: LimitedWorld['startedAt'];
let subscribe: LimitedWorld['subscribe'];
let publish: LimitedWorld['publish'];
let requestedAt: LimitedWorld['requestedAt'];
let deliveryOf: LimitedWorld['deliveryOf'];
let limitTo: LimitedWorld['limitTo'];
let cancel: LimitedWorld['cancel'];

beforeEach(async () => {
  ({ world, startedAt, subscribe, publish, requestedAt, deliveryOf, limitTo, cancel } = await limitedWorld());
});

/** Two hundred deliveries at 0.1 requests a second: the last waits 2,090 s. */
const longLine = async (): Promise<void> => {
  await subscribe(0.1);
  for (let index = 0; index < 200; index += 1) {
    await publish(1, index);
    await world.clock.run(startedAt + index);
  }
  await world.clock.run(startedAt + 10_000);
};

const requestedMessages = (): string[] =>
  world.subscriber.seen.map(({ request }) => request.headers['webhook-id'] ?? '');

describe('when the rate limit of a subscription rises, a waiting delivery', () => {
  it('moves up as fast as the new limit allows, in the existing order', async () => {
    await longLine();
    await limitTo(10);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(35);
    expect(mostInTenSeconds(requestedAt())).toBeLessThanOrEqual(105);
    // The first two were about to be sent anyway.
    const others = requestedMessages().filter((id) => id !== 'm0' && id !== 'm1');
    expect(others).toEqual(Array.from({ length: 198 }, (_, index) => `m${index + 2}`));
  });

  it('is sent at once if the limit is removed, and leaves no schedule', async () => {
    await longLine();
    await limitTo();
    await world.clock.run(startedAt + 15_000);

    expect(requestedAt()).toHaveLength(200);
    expect(world.schedules.filter(({ at }) => at > world.clock.now())).toEqual([]);
  });

  it('shares the new rate with later messages', async () => {
    await longLine();
    await limitTo(2);
    await publish(100, 200);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(300);
    expect(requestedAt().at(-1)).toBeLessThan(180);
    expect(mostInTenSeconds(requestedAt())).toBeLessThanOrEqual(21);
  });

  it('moves up even if its slot is after the maximum SQS delay', async () => {
    await subscribe(0.01);
    await publish(100);
    await world.clock.run(startedAt + 10_000);
    await limitTo(0.02);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(100);
    expect(requestedAt().at(-1)).toBeLessThan(5_100);
  });

  it('moves up although an attempt in flight reserved its slot under the old limit', async () => {
    await longLine();
    const { rateLimits, clock } = world;
    const { ports } = world.deliverContext;
    ports.rateLimits = {
      ...rateLimits,
      reserve: async (...args) => {
        const slot = await rateLimits.reserve(...args);
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

  it('keeps its slot if operate cannot be notified, and the limit then does not change', async () => {
    await longLine();
    const { operations } = world;
    const send = operations.send.bind(operations);
    operations.send = () => Promise.reject(new Error('SQS is down'));
    await expect(limitTo(10)).rejects.toThrow('SQS is down');
    const found = await world.subscriptions.findSubscription('orders', 'subscription-1');
    operations.send = send;
    await limitTo(10);
    await world.clock.run();

    expect(found?.options.max_per_second).toBe(0.1);
    expect(requestedAt().at(-1)).toBeLessThan(35);
  });

  it('moves up a minute later if operate ran before the change was written', async () => {
    await longLine();
    const { clock, subscriptions } = world;
    const change = subscriptions.changeSubscription.bind(subscriptions);
    subscriptions.changeSubscription = async (...args) => {
      await clock.sleep(5_000);
      return change(...args);
    };
    const changed = limitTo(10);
    await clock.run();
    await changed;

    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(100);
  });

  it('leaves its new slot to others if it was cancelled concurrently', async () => {
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
    ['is removed', undefined],
  ])('still waits for the policy delay of its retry if the limit %s', async (_, limit) => {
    const policy = { minimum_delay_retries: 1, minimum_delay: 60, maximum_delay: 60 };
    world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
    await subscribe(0.1, aBarePolicy(policy));
    await publish(100);
    await world.clock.run(startedAt + 100_000);
    const waiting = await deliveryOf('m5');
    await limitTo(limit, policy);
    await world.clock.run();

    expect(waiting).toMatchObject({ status: 'retrying', slot: { from: expect.any(Number) as number } });
    expect(requestedAt()).toHaveLength(200);
    expect(requestedAt().at(-1)).toBeLessThan(190);
    for (let index = 0; index < 100; index += 1) {
      const [first, retry] = (await deliveryOf(`m${index}`)).attempts;
      expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(60_000);
    }
  });

  it('keeps its slot if it cannot be moved, and delays no other', async () => {
    await longLine();
    const { deliveries } = world;
    const write = deliveries.write.bind(deliveries);
    deliveries.write = (transition) =>
      transition.name === 'move_up' && transition.key.messageId === 'm50'
        ? Promise.reject(new Error('DynamoDB is down'))
        : write(transition);
    await limitTo(10);
    await world.clock.run();

    expect(requestedAt().at(-2)).toBeLessThan(35);
    expect(requestedMessages().at(-1)).toBe('m50');
    expect(requestedAt()).toHaveLength(200);
  });
});

describe('when the rate limit of a subscription falls', () => {
  it('no waiting delivery is lost or sent too fast, and operate is not called', async () => {
    await subscribe(10);
    await publish(100);
    await world.clock.run(startedAt + 1_000);
    let operations = 0;
    world.operations.send = () => {
      operations += 1;
      return Promise.resolve();
    };
    await limitTo(1);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(100);
    expect(mostInTenSeconds(requestedAt().filter((at) => at > 2.5))).toBeLessThanOrEqual(11);
    expect(operations).toBe(0);
  });
});

describe('when waiting deliveries are cancelled', () => {
  it('the last waiting deliveries take their slots', async () => {
    await longLine();
    await cancel(10, 199);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(11);
    expect(requestedAt().at(-1)).toBeLessThan(120);
  });

  it('no other request is sent sooner than the limit allows', async () => {
    await subscribe(1);
    await publish(100);
    await world.clock.run(startedAt + 5_500);
    await cancel(20, 60);
    await publish(40, 100);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(100);
    expect(requestedAt().at(-1)).toBeLessThan(105);
    expect(mostInTenSeconds(requestedAt())).toBeLessThanOrEqual(11);
  });
});
