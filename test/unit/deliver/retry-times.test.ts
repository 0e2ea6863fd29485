import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

describe('the time of a retry', () => {
  it('counts from the end of the failed attempt', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 7 }));
    world.subscriber.script(world.url, [status(500, { takesMs: 4_000 }), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([11]);
  });

  it('is moved later, never earlier, by Retry-After, even for an immediate retry, which keeps its phase', async () => {
    await world.subscribe(
      aBarePolicy({ retries_with_no_delay: 1, minimum_delay_retries: 1, minimum_delay: 30 }),
    );
    world.subscriber.script(world.url, [
      status(503, { retryAfter: '12' }),
      status(503, { retryAfter: '3' }),
      status(200),
    ]);
    await world.publish();

    expect(world.gaps()).toEqual([12, 30]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'pre_backoff',
    ]);
  });

  it('is not before the date in Retry-After, however long the response took', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 1 }));
    const date = new Date(world.clock.now() + 20_000).toUTCString();
    world.subscriber.script(world.url, [status(503, { retryAfter: date, takesMs: 4_000 }), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([20]);
  });

  it('is not moved beyond the cap by Retry-After, and not at all by a malformed one', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 2 }));
    world.subscriber.script(world.url, [
      status(503, { retryAfter: '999999' }),
      status(503, { retryAfter: 'soon' }),
      status(200),
    ]);
    await world.publish();

    expect(world.gaps()).toEqual([3600, 5]);
  });

  it('of an immediate retry is now after a quick failure, and follows the retry queue after a slow one', async () => {
    await world.subscribe(aBarePolicy({ retries_with_no_delay: 2 }));
    world.subscriber.script(world.url, [
      status(500, { takesMs: 1_999 }),
      status(500, { takesMs: 2_000 }),
      status(200),
    ]);
    await world.publish();

    const scheduled = world.journal.facts.filter(({ fact }) => fact === 'wake_up_set');
    expect(scheduled).toMatchObject([{ attempt: 3, by: 'sqs_delay' }]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'immediate',
    ]);
  });

  it('uses SQS below the threshold and a schedule from it on, both exact to the second', async () => {
    await world.subscribe(
      aBarePolicy({
        retry_backoff_function: 'linear',
        backoff_retries: 3,
        minimum_delay: 89,
        maximum_delay: 91,
      }),
    );
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();

    expect(world.gaps()).toEqual([89, 90, 91]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.attempt)).toEqual([3, 4]);
    expect(world.schedules.map(({ at, wakeUp }) => (wakeUp.dueAt - at) / 1000)).toEqual([65, 65]);
  });

  it('is kept by repeated SQS delays when a schedule is refused', async () => {
    await world.subscribe(
      aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 2_000, maximum_delay: 2_000 }),
    );
    world.wakeUps.schedule = () => Promise.resolve('refused');
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([2_000]);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'schedule_refused', attempt: 2 }),
    );
  });
});
