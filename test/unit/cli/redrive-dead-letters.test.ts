import { describe, expect, it } from 'vitest';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { aLetter, bodiesOf, letters, redriveWorld, START } from '../../support/in-memory/redrive-world.ts';

describe('a redrive', () => {
  it('sends every dead letter back once, and leaves an empty queue', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(120));
    expect(await run()).toEqual({ redriven: 120, skipped: {}, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(bodiesOf(120));
    expect(deadLetters.ids).toEqual([]);
  });

  it('sends each batch before it removes it', async () => {
    const { run, steps } = redriveWorld(letters(60));
    await run();
    expect(steps).toEqual(['send 50', 'remove 50', 'send 10', 'remove 10']);
  });

  it('treats the queue as empty after three empty receives, spaced by the poll interval', async () => {
    const { run, sleeps } = redriveWorld([]);
    expect(await run()).toMatchObject({ redriven: 0, left: 0, end: 'emptied' });
    expect(sleeps).toEqual([500, 1000]);
  });

  it('continues after two empty receives between dead letters', async () => {
    const { run, ports, bodies } = redriveWorld(letters(60));
    let polls = 0;
    const overlooking = {
      ...ports.deadLetters,
      receive: (most: number) => {
        polls += 1;
        return polls % 3 === 0 ? ports.deadLetters.receive(most) : Promise.resolve([]);
      },
    };
    expect(await run({}, { deadLetters: overlooking })).toMatchObject({ redriven: 60 });
    expect(bodies()).toHaveLength(60);
  });

  it('stops at its limit, and holds no further dead letters', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(70));
    expect(await run({ limit: 57 })).toEqual({ redriven: 57, skipped: {}, left: 13, end: 'limit_reached' });
    expect(bodies()).toEqual(bodiesOf(57));
    expect(deadLetters.visible).toHaveLength(13);
  });

  it('leaves dead letters sent before `since`, and releases them', async () => {
    const since = START - 60_000;
    const { run, bodies, deadLetters } = redriveWorld([
      aLetter(0, since - 1),
      aLetter(1, since),
      ...Array.from({ length: 80 }, (_, n) => aLetter(100 + n, since - 1)),
      aLetter(2, since + 1),
    ]);
    expect(await run({ since })).toEqual({ redriven: 2, skipped: {}, left: 81, end: 'emptied' });
    expect(bodies()).toEqual(['body-1', 'body-2']);
    expect(deadLetters.visible).toHaveLength(81);
  });

  it('skips unreadable dead letters, which stay, and counts them by reason and not as left', async () => {
    const { run, bodies, deadLetters } = redriveWorld([
      { ...aLetter(0), body: 'garbage' },
      aLetter(1),
      { ...aLetter(2), body: 'garbage too' },
    ]);
    expect(await run()).toEqual({ redriven: 1, skipped: { not_json: 2 }, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(['body-1']);
    expect(deadLetters.visible).toEqual(['letter-0', 'letter-2']);
  });

  it('counts an unreadable dead letter once if it is received again after five minutes', async () => {
    const { run, ports } = redriveWorld([{ ...aLetter(0), body: 'garbage' }, aLetter(1)]);
    let polls = 0;
    const slow = {
      ...ports.deadLetters,
      receive: async (most: number) => {
        polls += 1;
        if (polls === 2) await ports.clock.sleep(300_000);
        return ports.deadLetters.receive(most);
      },
    };
    expect(await run({}, { deadLetters: slow })).toMatchObject({ redriven: 1, skipped: { not_json: 1 } });
  });

  it('stops before it holds more messages than SQS allows in flight', async () => {
    const { run, ports, bodies } = redriveWorld([]);
    let count = 0;
    const endless = {
      ...ports.deadLetters,
      receive: (most: number) =>
        Promise.resolve(
          Array.from({ length: most }, () => ({ ...aLetter((count += 1), START + 1), receipt: 'r' })),
        ),
      count: () => Promise.resolve(130_000),
    };
    expect(await run({}, { deadLetters: endless })).toEqual({
      redriven: 0,
      skipped: {},
      left: 130_000,
      end: 'crowded',
    });
    expect(count).toBe(100_000);
    expect(bodies()).toEqual([]);
  });

  it('reports its progress after each batch', async () => {
    const { run } = redriveWorld([
      ...letters(60),
      { ...aLetter(60), body: 'garbage' },
      aLetter(61, START + 1),
    ]);
    const tallies: unknown[] = [];
    await run({ onProgress: (tally) => tallies.push(tally) });
    expect(tallies).toEqual([
      { redriven: 50, skipped: {}, left: 0 },
      { redriven: 60, skipped: { not_json: 1 }, left: 1 },
    ]);
  });
});

describe('a redriven message that fails again', () => {
  /** Dead-letters every sent message at once, under a new id. */
  const deadLettering = (sentAt: (n: number) => number) => {
    const world = redriveWorld(letters(3));
    let count = 0;
    const workQueues = {
      send: (messages: readonly RedrivenMessage[]) => {
        for (const { body } of messages) {
          count += 1;
          world.deadLetters.put({ ...aLetter(1000 + count, sentAt(count)), body });
        }
        return Promise.resolve();
      },
    };
    return { ...world, run: () => world.run({}, { workQueues }) };
  };

  it('is left for the next run, because it was sent after the start of this run', async () => {
    const { run, deadLetters } = deadLettering(() => START + 1);
    expect(await run()).toEqual({ redriven: 3, skipped: {}, left: 3, end: 'emptied' });
    expect(deadLetters.visible).toHaveLength(3);
  });

  it('is also left if the clock of SQS is behind', async () => {
    const { run } = deadLettering(() => START - 500);
    expect(await run()).toEqual({ redriven: 3, skipped: {}, left: 3, end: 'emptied' });
  });
});
