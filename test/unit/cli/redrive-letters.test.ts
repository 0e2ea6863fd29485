import { describe, expect, it } from 'vitest';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { aLetter, bodiesOf, letters, redriveWorld, START } from '../../support/in-memory/redrive-world.ts';

describe('a redrive', () => {
  it('sends every letter back once and leaves an empty queue', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(120));
    expect(await run()).toEqual({ redriven: 120, skipped: {}, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(bodiesOf(120));
    expect(deadLetters.ids).toEqual([]);
  });

  it('sends before it removes, batch by batch', async () => {
    const { run, steps } = redriveWorld(letters(60));
    await run();
    expect(steps).toEqual(['send 50', 'remove 50', 'send 10', 'remove 10']);
  });

  it('believes that the queue is empty after three empty polls, by the poll interval', async () => {
    const { run, sleeps } = redriveWorld([]);
    expect(await run()).toMatchObject({ redriven: 0, left: 0, end: 'emptied' });
    expect(sleeps).toEqual([500, 1000]);
  });

  it('is not misled by two empty polls between letters', async () => {
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

  it('stops at its limit, without holding more', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(70));
    expect(await run({ limit: 57 })).toEqual({ redriven: 57, skipped: {}, left: 13, end: 'limit_reached' });
    expect(bodies()).toEqual(bodiesOf(57));
    expect(deadLetters.visible).toHaveLength(13);
  });

  it('leaves letters from before `since` and releases them', async () => {
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

  it('skips garbage, which stays, counted by reason and not as left', async () => {
    const { run, bodies, deadLetters } = redriveWorld([
      { ...aLetter(0), body: 'garbage' },
      aLetter(1),
      { ...aLetter(2), body: 'garbage too' },
    ]);
    expect(await run()).toEqual({ redriven: 1, skipped: { not_json: 2 }, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(['body-1']);
    expect(deadLetters.visible).toEqual(['letter-0', 'letter-2']);
  });

  it('counts garbage once though it comes again after five minutes', async () => {
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

  it('stops before it holds more than SQS lets anybody hold', async () => {
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

  it('tells how far it is after each batch', async () => {
    const { run } = redriveWorld([
      ...letters(60),
      { ...aLetter(60), body: 'garbage' },
      aLetter(61, START + 1),
    ]);
    const told: unknown[] = [];
    await run({ onProgress: (tally) => told.push(tally) });
    expect(told).toEqual([
      { redriven: 50, skipped: {}, left: 0 },
      { redriven: 60, skipped: { not_json: 1 }, left: 1 },
    ]);
  });
});

describe('a letter that fails again', () => {
  /** Buries at once whatever is sent, under a new id. */
  const burying = (sentAt: (n: number) => number) => {
    const world = redriveWorld(letters(3));
    let buried = 0;
    const workQueues = {
      send: (messages: readonly RedrivenMessage[]) => {
        for (const { body } of messages) {
          buried += 1;
          world.deadLetters.put({ ...aLetter(1000 + buried, sentAt(buried)), body });
        }
        return Promise.resolve();
      },
    };
    return { ...world, run: () => world.run({}, { workQueues }) };
  };

  it('is left for the next run, because it was sent after the start of this one', async () => {
    const { run, deadLetters } = burying(() => START + 1);
    expect(await run()).toEqual({ redriven: 3, skipped: {}, left: 3, end: 'emptied' });
    expect(deadLetters.visible).toHaveLength(3);
  });

  it('is left also where the clock of SQS is behind', async () => {
    const { run } = burying(() => START - 500);
    expect(await run()).toEqual({ redriven: 3, skipped: {}, left: 3, end: 'emptied' });
  });
});
