import { describe, expect, it } from 'vitest';
import { RunFailedError } from '../../../cli/dead-letters/process-dead-letters.ts';
import { runProblem } from '../../../cli/dead-letters/run-text.ts';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { aLetter, bodiesOf, letters, redriveWorld, START } from '../../support/in-memory/redrive-world.ts';

describe('a redrive', () => {
  it('sends every dead letter back once, and leaves an empty queue', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(120));
    expect(await run()).toMatchObject({ handled: 120, skipped: {}, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(bodiesOf(120));
    expect(deadLetters.ids).toEqual([]);
  });

  it('sends each batch before it removes it', async () => {
    const { run, steps } = redriveWorld(letters(60));
    await run();
    expect(steps).toEqual(['send 50', 'remove 50', 'send 10', 'remove 10']);
  });

  it('treats the queue as empty after three empty receives, spaced by the poll interval, if SQS counts messages', async () => {
    const { run, ports, sleeps } = redriveWorld([]);
    const counts = () => Promise.resolve({ visible: 1, hidden: 0 });
    const result = await run({}, { deadLetters: { ...ports.deadLetters, counts } });
    expect(result).toMatchObject({ handled: 0, left: 0, end: 'emptied' });
    expect(sleeps).toEqual([500, 1000]);
  });

  it.each([0, 3])('ends after one empty receive if it has seen all that SQS counts: %i', async (count) => {
    const { run, sleeps } = redriveWorld(letters(count));
    expect(await run()).toMatchObject({ handled: count, left: 0, hidden: 0, end: 'emptied' });
    expect(sleeps).toEqual([]);
  });

  it('does not rely on a count of zero alone', async () => {
    const { run, ports } = redriveWorld(letters(3));
    const counts = () => Promise.resolve({ visible: 0, hidden: 0 });
    expect(await run({}, { deadLetters: { ...ports.deadLetters, counts } })).toMatchObject({ handled: 3 });
  });

  it('continues after two empty receives between dead letters', async () => {
    const { run, ports, bodies } = redriveWorld(letters(60));
    let polls = 0;
    const overlooking = {
      ...ports.deadLetters,
      receive: (most: number, hiddenSeconds: number) => {
        polls += 1;
        return polls % 3 === 0 ? ports.deadLetters.receive(most, hiddenSeconds) : Promise.resolve([]);
      },
    };
    expect(await run({}, { deadLetters: overlooking })).toMatchObject({ handled: 60 });
    expect(bodies()).toHaveLength(60);
  });

  it('stops at its limit, and holds no further dead letters', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(70));
    expect(await run({ limit: 57 })).toMatchObject({
      handled: 57,
      skipped: {},
      left: 13,
      end: 'limit_reached',
    });
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
    expect(await run({ since })).toMatchObject({ handled: 2, skipped: {}, left: 81, end: 'emptied' });
    expect(bodies()).toEqual(['body-1', 'body-2']);
    expect(deadLetters.visible).toHaveLength(81);
  });

  it('skips unreadable dead letters, which stay, and counts them by reason and not as left', async () => {
    const { run, bodies, deadLetters } = redriveWorld([
      { ...aLetter(0), body: 'garbage' },
      aLetter(1),
      { ...aLetter(2), body: 'garbage too' },
    ]);
    expect(await run()).toMatchObject({ handled: 1, skipped: { not_json: 2 }, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(['body-1']);
    expect(deadLetters.visible).toEqual(['letter-0', 'letter-2']);
  });

  it('counts an unreadable dead letter once if it is received again after five minutes', async () => {
    const { run, ports } = redriveWorld([{ ...aLetter(0), body: 'garbage' }, aLetter(1)]);
    let polls = 0;
    const slow = {
      ...ports.deadLetters,
      receive: async (most: number, hiddenSeconds: number) => {
        polls += 1;
        if (polls === 2) await ports.clock.sleep(300_000);
        return ports.deadLetters.receive(most, hiddenSeconds);
      },
    };
    expect(await run({}, { deadLetters: slow })).toMatchObject({ handled: 1, skipped: { not_json: 1 } });
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
      counts: () => Promise.resolve({ visible: 130_000, hidden: 0 }),
    };
    expect(await run({}, { deadLetters: endless })).toMatchObject({
      handled: 0,
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
      { handled: 50, skipped: {}, left: 0 },
      { handled: 60, skipped: { not_json: 1 }, left: 1 },
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
    expect(await run()).toMatchObject({ handled: 3, skipped: {}, left: 3, end: 'emptied' });
    expect(deadLetters.visible).toHaveLength(3);
  });

  it('is also left if the clock of SQS is behind', async () => {
    const { run } = deadLettering(() => START - 500);
    expect(await run()).toMatchObject({ handled: 3, skipped: {}, left: 3, end: 'emptied' });
  });
});

describe('a run while another program holds dead letters', () => {
  it('counts those that it could not see', async () => {
    const { run, ports, bodies } = redriveWorld(letters(12));
    await ports.deadLetters.receive(5, 300);
    expect(await run()).toMatchObject({ handled: 7, left: 0, hidden: 5, total: 12, end: 'emptied' });
    expect(bodies()).toHaveLength(7);
  });

  it('counts those that the other program received after the start', async () => {
    const { run, ports, deadLetters } = redriveWorld(letters(50));
    let looks = 0;
    const counts = async () => {
      const counted = await ports.deadLetters.counts();
      looks += 1;
      if (looks === 1) await deadLetters.receive(30, 60);
      return counted;
    };
    const result = await run({}, { deadLetters: { ...ports.deadLetters, counts } });
    expect(result).toMatchObject({ handled: 20, left: 0, hidden: 30, end: 'emptied' });
  });

  it('does not count those that were visible again during the run', async () => {
    const { run, ports } = redriveWorld(letters(3));
    await ports.deadLetters.receive(3, 1);
    expect(await run()).toMatchObject({ handled: 3, hidden: 0 });
  });

  it('does not count those that it held itself, if the counts of SQS lag behind', async () => {
    const { run, ports } = redriveWorld(letters(3));
    const { visible, hidden } = await ports.deadLetters.counts();
    let looks = 0;
    const counts = () => {
      looks += 1;
      return Promise.resolve(looks === 1 ? { visible, hidden } : { visible: 0, hidden: 3 });
    };
    expect(await run({}, { deadLetters: { ...ports.deadLetters, counts } })).toMatchObject({ hidden: 0 });
  });
});

describe('a run with a filter', () => {
  it('handles the wanted dead letters up to its limit, and releases all others', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(120));
    const wants = ({ body }: { body: string }) => body.endsWith('7');
    const result = await run({ wants, limit: 3 });
    expect(result).toMatchObject({ handled: 3, left: 117, end: 'limit_reached' });
    expect(bodies()).toEqual(['body-7', 'body-17', 'body-27']);
    expect(deadLetters.visible).toHaveLength(117);
  });

  it('changes nothing if it is to keep the dead letters', async () => {
    const { run, steps, deadLetters } = redriveWorld([...letters(60), { ...aLetter(60), body: 'garbage' }]);
    const result = await run({
      keep: true,
      handle: (all) => Promise.resolve(all.map(() => ({ kind: 'redriven' }))),
    });
    expect(result).toMatchObject({ handled: 60, skipped: { not_json: 1 }, left: 0 });
    expect(steps).toEqual([]);
    expect(deadLetters.visible).toHaveLength(61);
  });
});

describe('an interrupted redrive', () => {
  it('completes the current batch, starts no other, and reports how many are left', async () => {
    const interrupted = new AbortController();
    const { run, ports, bodies, deadLetters } = redriveWorld([aLetter(900, START + 1), ...letters(70)]);
    const workQueues = {
      send: (messages: readonly RedrivenMessage[]) => {
        interrupted.abort();
        return ports.workQueues.send(messages);
      },
    };
    const result = await run({ signal: interrupted.signal }, { workQueues });
    expect(result).toMatchObject({ handled: 49, skipped: {}, left: 22, end: 'interrupted' });
    expect(bodies()).toHaveLength(49);
    expect(deadLetters.visible).toHaveLength(22);
  });

  it('sends nothing if it was interrupted before its first batch', async () => {
    const { run, steps } = redriveWorld(letters(3));
    expect(await run({ signal: AbortSignal.abort() })).toMatchObject({ left: 3, end: 'interrupted' });
    expect(steps).toEqual([]);
  });
});

describe('a redrive that fails', () => {
  const failure = new Error('throttled');
  const fail = () => Promise.reject(failure);

  it('loses nothing between sending and removing: the next run sends the batch again', async () => {
    const { run, ports, bodies, deadLetters } = redriveWorld(letters(2));
    const broken = run({}, { deadLetters: { ...ports.deadLetters, remove: fail } });
    await expect(broken).rejects.toMatchObject({ handled: 0, causes: [failure] });
    await expect(broken).rejects.toBeInstanceOf(RunFailedError);
    expect(deadLetters.visible).toHaveLength(2);

    expect(await run()).toMatchObject({ handled: 2, left: 0 });
    expect(bodies()).toEqual(['body-0', 'body-1', 'body-0', 'body-1']);
  });

  it('keeps every dead letter if sending fails, reports the earlier ones, and releases all held ones', async () => {
    const { run, ports, deadLetters } = redriveWorld([{ ...aLetter(900), body: 'garbage' }, ...letters(70)]);
    let sends = 0;
    const send = (messages: readonly RedrivenMessage[]) => {
      sends += 1;
      return sends === 1 ? ports.workQueues.send(messages) : fail();
    };
    await expect(run({}, { workQueues: { send } })).rejects.toMatchObject({ handled: 49, cause: failure });
    expect(deadLetters.visible).toHaveLength(22);
  });

  it('also reports an error of releasing', async () => {
    const { run, ports } = redriveWorld(letters(1));
    const unreleased = new Error('unreleased');
    const deadLetters = { ...ports.deadLetters, receive: fail, release: () => Promise.reject(unreleased) };
    await expect(run({}, { deadLetters })).rejects.toMatchObject({ causes: [failure, unreleased] });
  });

  it.each([
    [1, 'The redrive stopped after 1 message: throttled.'],
    [1250, 'The redrive stopped after 1,250 messages: throttled.'],
  ])('says how many messages it redrove before: %i', (handled, sentence) => {
    const report = runProblem('The redrive', 'five minutes');
    expect(() => report(new RunFailedError(handled, [failure]))).toThrow(sentence);
  });
});
