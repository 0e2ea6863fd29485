import { describe, expect, it } from 'vitest';
import { chunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { answered } from '../../support/delivery-builders.ts';

describe('the first attempts of a chunk', () => {
  it('take two writes if ten subscribers answer at similar speed: the claim and one for all successes', async () => {
    const world = await chunkedWorld(10);
    for (const [index, id] of world.ids.entries())
      world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 100 + 10 * index })]);
    await world.publish();
    await world.clock.run();

    expect(world.writesSeen).toEqual([
      { at: 0, write: 'chunk unclaimed' },
      { at: 190, write: 'chunk leased' },
    ]);
    expect(world.separateMembers()).toEqual([]);
    expect(world.requests()).toEqual(world.ids.map(() => 1));
    for (const id of world.ids)
      expect(await world.delivery(id)).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1 }],
        lost: 0,
      });
    expect((await world.chunk())?.lease).toBeUndefined();
    expect(world.deliveryJobs.waiting).toBe(0);
  });

  it('are made concurrently', async () => {
    const world = await chunkedWorld(10);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 5_000 })]);
    await world.publish();
    await world.clock.run();

    expect(new Set(world.subscriber.seen.map(({ at }) => at))).toEqual(new Set([world.startedAt]));
  });

  it('are recorded within the batch window; a slow one does not delay the others', async () => {
    const world = await chunkedWorld(10);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs: 50 })]);
    world.subscriber.script(world.urlOf('s-10'), [status(200, { takesMs: 10_000 })]);
    await world.publish();
    await world.until(50 + 250);

    for (const id of world.ids.slice(0, 9)) expect((await world.delivery(id)).status).toBe('delivered');
    expect(await world.delivery('s-10')).toMatchObject({ status: 'pending', attempts: [] });

    await world.clock.run();
    expect(world.writesSeen).toEqual([
      { at: 0, write: 'chunk unclaimed' },
      { at: 300, write: 'chunk leased' },
      // No other member is pending, so it is recorded at once.
      { at: 10_000, write: 'chunk leased' },
    ]);
    expect((await world.delivery('s-10')).status).toBe('delivered');
  });

  it('that succeed during a write are recorded by the next write, each once', async () => {
    const world = await chunkedWorld(3);
    const write = world.chunks.write.bind(world.chunks);
    world.chunks.write = async (transition) => {
      if (transition.expect.kind === 'leased') await world.clock.sleep(400);
      return await write(transition);
    };
    for (const [index, id] of world.ids.entries())
      world.subscriber.script(world.urlOf(id), [status(200, { takesMs: [10, 300, 5_000][index] ?? 0 })]);
    await world.publish();
    await world.clock.run();

    // The first waits 250 ms and its write takes 400 ms; the second waits 250 ms after that; the last is written at
    // once.
    expect(world.writesSeen.map(({ at }) => at)).toEqual([0, 260, 910, 5_000]);
    expect(world.requests()).toEqual([1, 1, 1]);
    for (const id of world.ids) expect((await world.delivery(id)).attempts).toHaveLength(1);
  });

  it('have their start, duration and response recorded', async () => {
    const world = await chunkedWorld(2);
    world.subscriber.script(world.urlOf('s-1'), [status(202, { takesMs: 30, snippet: 'thanks' })]);
    world.subscriber.script(world.urlOf('s-2'), [status(204, { takesMs: 70 })]);
    await world.publish();
    await world.clock.run();

    const initial = {
      number: 1,
      round: 1,
      phase: 'initial',
      startedAt: world.startedAt,
      outcome: 'delivered',
    };
    expect((await world.delivery('s-1')).attempts).toEqual([
      { ...initial, durationMs: 30, result: answered(202, 'thanks') },
    ]);
    expect((await world.delivery('s-2')).attempts).toEqual([
      { ...initial, durationMs: 70, result: answered(204) },
    ]);
  });

  it('of a delayed message are made together when it is due', async () => {
    const world = await chunkedWorld(3);
    await world.publish({}, 60);
    await world.until(59_000);
    expect(world.writes()).toEqual([]);
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - world.startedAt)).toEqual([60_000, 60_000, 60_000]);
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased']);
  });

  it('return to the queue together if the invocation has no time for them', async () => {
    const world = await chunkedWorld(3);
    await world.deliverCopy(world.job(), world.received('hurried', 1, 10_000));

    expect(world.writes()).toEqual([]);
    expect(world.journal.facts.filter(({ fact }) => fact === 'sent_again')).toHaveLength(3);
    expect(world.deliveryJobs.waiting).toBe(1);

    await world.clock.run();
    expect(world.writes()).toEqual(['chunk unclaimed', 'chunk leased']);
    expect(world.requests()).toEqual([1, 1, 1]);
  });

  it('are divided into several jobs if they exceed the limit per job, each recorded in its chunk', async () => {
    const world = await chunkedWorld(40, { perJob: 5 });
    await world.publish();
    await world.clock.run();

    const record = await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' });
    expect(record).toMatchObject({ matched: 40, buckets: 1, chunks: 8 });
    const members = await Promise.all(
      Array.from({ length: 8 }, async (_, chunk) => [...((await world.chunk(chunk))?.members?.keys() ?? [])]),
    );
    expect(members.flat().sort()).toEqual(world.ids.toSorted());
    for (const id of world.ids) expect((await world.delivery(id)).status).toBe('delivered');
  });

  it.each([
    ['one subscription', 1, 10],
    ['one attempt per job', 3, 1],
  ])('have separate records with %s', async (_, count, perJob) => {
    const world = await chunkedWorld(count, { perJob });
    await world.publish();
    await world.clock.run();

    expect(await world.chunk()).toBeUndefined();
    expect(world.separateMembers()).toEqual(world.ids);
  });
});
