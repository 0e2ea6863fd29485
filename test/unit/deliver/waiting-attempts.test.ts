import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy, SUBSCRIBER_URL } from '../../support/builders.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: LimitedWorld['world'];
let startedAt: LimitedWorld['startedAt'];
let subscribe: LimitedWorld['subscribe'];
let publish: LimitedWorld['publish'];
let requestedAt: LimitedWorld['requestedAt'];
let deliveryOf: LimitedWorld['deliveryOf'];
let writes: string[];
let wakeUps: { attempt: number; dueAt: number }[];
let reserved: number;

beforeEach(async () => {
  ({ world, startedAt, subscribe, publish, requestedAt, deliveryOf } = await limitedWorld());
  [writes, wakeUps, reserved] = [[], [], 0];
  const { deliveries, rateLimits } = world;
  const [write, reserve, send] = [
    deliveries.write.bind(deliveries),
    rateLimits.reserve.bind(rateLimits),
    world.wakeUps.sendDelayed.bind(world.wakeUps),
  ];
  deliveries.write = (transition) => {
    writes.push(transition.name);
    return write(transition);
  };
  rateLimits.reserve = async (...args) => {
    const slot = await reserve(...args);
    if (slot.epoch !== undefined) reserved += 1;
    return slot;
  };
  world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => {
    wakeUps.push(wakeUp);
    return send(wakeUp, delaySeconds);
  };
});

const times = (name: string): number => writes.filter((one) => one === name).length;

describe('a first attempt that waits for a rate-limit slot', () => {
  it('is recorded by one write, without a claim', async () => {
    await subscribe(0.1);
    await publish(20);
    await world.clock.run(startedAt + 5_000);

    expect([times('open'), times('await_slot'), times('record'), writes.length]).toEqual([1, 19, 1, 21]);
    expect(await deliveryOf('m19')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
  });

  it('releases the second slot if its job is received twice, for the next message', async () => {
    await subscribe(0.1);
    const send = world.deliveryJobs.send.bind(world.deliveryJobs);
    world.deliveryJobs.send = (job) => {
      send(job);
      send(job, 3);
    };
    await publish(20);
    await world.clock.run(startedAt + 5_000);
    await publish(1, 20);
    await world.clock.run();

    expect(requestedAt()).toHaveLength(21);
    expect(requestedAt().at(-1)).toBe(20 * 10.5);
  });

  it('is scheduled by the next receive of its job if scheduling failed', async () => {
    await subscribe(0.1);
    await publish(1);
    await world.clock.run(startedAt + 1_000);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => Promise.reject(new Error('SQS is down'));
    await publish(1, 1);
    await world.clock.run(startedAt + 2_000);
    world.wakeUps.sendDelayed = send;
    await world.clock.run(startedAt + 20_000);

    expect(requestedAt()).toEqual([0, 10.5]);
  });
});

describe('a retry of a rate-limited subscription with many waiting deliveries', () => {
  const failing = (): void => {
    world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
  };

  it('is woken once for its slot, not at the end of its delay', async () => {
    failing();
    await subscribe(1, aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 5, maximum_delay: 5 }));
    await publish(50);
    await world.clock.run();

    const { attempts, status: end } = await deliveryOf('m30');
    expect([attempts.length, end]).toEqual([4, 'exhausted']);
    expect(requestedAt()).toHaveLength(200);
    expect(wakeUps.length).toBeLessThanOrEqual(200);
    expect(reserved).toBeLessThanOrEqual(201);
  });

  it('is not sent before its policy allows', async () => {
    failing();
    await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 20, maximum_delay: 20 }));
    await publish(10);
    await world.clock.run();

    for (let index = 0; index < 10; index += 1) {
      const { attempts } = await deliveryOf(`m${index}`);
      const [first, retry] = attempts;
      expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(20_000);
    }
  });

  it('reserves no slot if its delay is longer than the wait', async () => {
    failing();
    await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600, maximum_delay: 600 }));
    await publish(5);
    await world.clock.run(startedAt + 60_000);

    expect(reserved).toBe(5);
    expect((await deliveryOf('m4')).slot).toBeUndefined();
  });
});
