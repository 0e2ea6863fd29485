import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const URL = 'https://subscriber.test/hook';

let world: PipelineWorld;
let lost: boolean;

beforeEach(async () => {
  world = pipelineWorld();
  lost = false;
  const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
  world.wakeUps.sendDelayed = (wakeUp, delaySeconds) =>
    lost ? Promise.resolve() : sendDelayed(wakeUp, delaySeconds);
  await world.subscriptions.putQueue(aQueue());
  await world.subscriptions.addSubscription(
    aSubscription({
      options: {
        _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10, maximum_delay: 10 }),
      },
    }),
  );
  world.subscriber.script(URL, [status(500), status(200)]);
});

const failedWithLostWakeUp = async (): Promise<void> => {
  lost = true;
  await world.dispatch({ ok: true, message: aMessage() });
  await world.clock.run();
  lost = false;
};

const afterSeconds = (seconds: number): Promise<void> => world.clock.run(world.clock.now() + seconds * 1000);

describe('reconcile', () => {
  it('wakes a retry whose wake-up was lost, and returns how late it was', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(10 + 45);
    const result = await world.reconcile();
    await world.clock.run();

    expect(result).toEqual({ woken: 1, latestMs: 45_000 });
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('does not wake a delivery that is overdue only briefly', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(10 + 29);

    expect(await world.reconcile()).toEqual({ woken: 0, latestMs: 0 });
  });

  it('wakes a delivery at most once in 15 minutes, so that a backlog does not multiply', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    await afterSeconds(14 * 60);
    expect(await world.reconcile()).toMatchObject({ woken: 0 });
    await afterSeconds(2 * 60);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('wakes the others if one wake-up cannot be sent, and that one five minutes later', async () => {
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'other', subscriber: 'https://subscriber.test/other' }),
    );
    world.subscriber.script('https://subscriber.test/other', [
      status(500, { retryAfter: '10' }),
      status(200),
    ]);
    await failedWithLostWakeUp();
    await afterSeconds(60);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) =>
      wakeUp.key.subscriptionId === 'other'
        ? Promise.reject(new Error('throttled'))
        : send(wakeUp, delaySeconds);
    await expect(world.reconcile()).rejects.toThrow('1 deliveries could not be woken');
    expect(world.journal.facts).toContainEqual({ fact: 'reconcile_ran', overdue: 2, stuck: 0 });
    await afterSeconds(1);
    expect((await world.delivery()).status).toBe('delivered');
    world.wakeUps.sendDelayed = send;
    await afterSeconds(5 * 60 - 30);

    expect(await world.reconcile()).toMatchObject({ woken: 1 });
  });

  it('logs at each run how many deliveries it found and how many it had woken before', async () => {
    const ran = () => world.journal.facts.filter(({ fact }) => fact === 'reconcile_ran');
    await world.reconcile();
    expect(ran()).toEqual([{ fact: 'reconcile_ran', overdue: 0, stuck: 0 }]);

    await failedWithLostWakeUp();
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 0 });
    await afterSeconds(16 * 60);
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await afterSeconds(16 * 60);
    lost = false;
    await world.reconcile();
    await world.clock.run();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
    await afterSeconds(60);
    await world.reconcile();
    expect(ran().at(-1)).toEqual({ fact: 'reconcile_ran', overdue: 0, stuck: 0 });
  });

  it('counts pending steps as stuck only after an earlier wake-up', async () => {
    const ran = () => world.journal.facts.filter(({ fact }) => fact === 'reconcile_ran').at(-1);
    world.subscriber.script(URL, [status(400)]);
    world.undeliverables.send = () => Promise.reject(new Error('throttled'));
    await world.dispatch({ ok: true, message: aMessage() });
    await afterSeconds(60);
    lost = true;
    await world.reconcile();
    expect(ran()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 0 });
    await afterSeconds(16 * 60);
    await world.reconcile();
    expect(ran()).toEqual({ fact: 'reconcile_ran', overdue: 1, stuck: 1 });
  });

  it('wakes each delivery once if two runs are concurrent', async () => {
    await failedWithLostWakeUp();
    await afterSeconds(60);
    const both = await Promise.all([world.reconcile(), world.reconcile()]);

    expect(both.reduce((sum, { woken }) => sum + woken, 0)).toBe(1);
  });

  it('wakes a finished delivery with pending steps', async () => {
    world.subscriber.script(URL, [status(400)]);
    const send = world.undeliverables.send.bind(world.undeliverables);
    world.undeliverables.send = () => Promise.reject(new Error('throttled'));
    await world.dispatch({ ok: true, message: aMessage() });
    await afterSeconds(1);
    expect(await world.delivery()).toMatchObject({
      status: 'rejected',
      pendingSteps: [{ kind: 'undeliverable' }],
    });
    world.undeliverables.send = send;
    await afterSeconds(60);
    await world.reconcile();
    await afterSeconds(1);

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
  });

  it('processes page after page until nothing is overdue', async () => {
    await Promise.all(
      Array.from({ length: 450 }, (_, index) =>
        world.subscriptions.addSubscription(
          aSubscription({ id: `s-${index}`, subscriber: `https://subscriber.test/${index}` }),
        ),
      ),
    );
    for (let index = 0; index < 450; index += 1) {
      world.subscriber.script(`https://subscriber.test/${index}`, [
        status(500, { retryAfter: '5' }),
        status(200),
      ]);
    }
    await failedWithLostWakeUp();
    await afterSeconds(120);

    expect(await world.reconcile()).toMatchObject({ woken: 451 });
  });
});
