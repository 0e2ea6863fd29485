import { describe, expect, it } from 'vitest';
import {
  RunFailedError,
  type DeadLetterRequest,
  processDeadLetters,
} from '../../../cli/dead-letters/process-dead-letters.ts';
import { runProblem } from '../../../cli/dead-letters/run-text.ts';
import type {
  RedrivenMessage,
  DeadLetter,
  DeadLetterReading,
} from '../../../shared/domain/delivery/dead-letter.ts';
import type { DeadLetterQueue, WorkQueues } from '../../../shared/ports/queues.ts';
import { sendBack } from '../../../cli/dead-letters/change.ts';
import { inMemoryDeadLetterQueue, inMemoryWorkQueues } from '../../support/in-memory/in-memory-queues.ts';

const START = Date.UTC(2026, 0, 1);

const aLetter = (n: number, sentAt = START - 1000): Omit<DeadLetter, 'receipt'> => ({
  id: `letter-${n}`,
  sentAt,
  body: `body-${n}`,
  attributes: {},
});

/** Identifies dead letters by their bodies; bodies that start with `garbage` cannot be redriven. */
const read = ({ body }: DeadLetter): DeadLetterReading =>
  body.startsWith('garbage')
    ? { kind: 'skip', reason: 'not_json' }
    : { kind: 'redrive', message: { to: 'ingress', body, attributes: {} }, identity: body };

/** A dead-letter queue and the queue behind it, with a clock that a sleep advances. */
const redriveWorld = (letters: Omit<DeadLetter, 'receipt'>[]) => {
  let now = START;
  const sleeps: number[] = [];
  const steps: string[] = [];
  const clock = {
    now: () => now,
    sleep: (milliseconds: number) => {
      sleeps.push(milliseconds);
      now += milliseconds;
      return Promise.resolve();
    },
  };
  const deadLetters = inMemoryDeadLetterQueue(clock);
  deadLetters.put(...letters);
  const workQueues = inMemoryWorkQueues();
  const queue: DeadLetterQueue = {
    ...deadLetters,
    remove: (removed) => {
      steps.push(`remove ${removed.length}`);
      return deadLetters.remove(removed);
    },
  };
  const send: WorkQueues['send'] = (messages) => {
    steps.push(`send ${messages.length}`);
    return workQueues.send(messages);
  };
  /** `faults`: what the two queues do instead. */
  const run = (
    order: Partial<DeadLetterRequest<RedrivenMessage>> = {},
    faults: Partial<DeadLetterQueue & WorkQueues> = {},
  ) =>
    processDeadLetters(
      { clock, deadLetters: { ...queue, ...faults } },
      {
        read,
        handle: sendBack({ send, ...faults }),
        startedAt: START,
        signal: new AbortController().signal,
        onProgress: () => undefined,
        ...order,
      },
    );
  const bodies = () => workQueues.sent.map(({ body }) => body);
  return { clock, deadLetters, send, run, sleeps, steps, bodies };
};

const letters = (count: number) => Array.from({ length: count }, (_, n) => aLetter(n));
const bodiesOf = (count: number) => letters(count).map(({ body }) => body);

const garbage = (n: number) => ({ ...aLetter(n), body: `garbage ${n}` });

/** Counts of SQS: these at first, and then the others. */
const counting = (first: object, later = first) => {
  let looks = 0;
  return () => Promise.resolve({ visible: 0, hidden: 0, ...(looks++ === 0 ? first : later) });
};

describe('a redrive', () => {
  it('sends each batch back once before it removes it, and leaves an empty queue', async () => {
    const { run, steps, bodies, deadLetters } = redriveWorld(letters(60));
    expect(await run()).toMatchObject({ handled: 60, skipped: {}, left: 0, end: 'emptied' });
    expect(steps).toEqual(['send 50', 'remove 50', 'send 10', 'remove 10']);
    expect(bodies()).toEqual(bodiesOf(60));
    expect(deadLetters.ids).toEqual([]);
  });

  it('treats the queue as empty after three empty receives, spaced by the poll interval, if SQS counts messages', async () => {
    const { run, sleeps } = redriveWorld([]);
    expect(await run({}, { counts: counting({ visible: 1 }) })).toMatchObject({ left: 0, end: 'emptied' });
    expect(sleeps).toEqual([500, 1000]);
  });

  it.each([0, 3])('ends after one empty receive if it has seen all that SQS counts: %i', async (count) => {
    const { run, sleeps } = redriveWorld(letters(count));
    expect(await run()).toMatchObject({ handled: count, left: 0, hidden: 0, end: 'emptied' });
    expect(sleeps).toEqual([]);
  });

  it('does not rely on a count of zero alone', async () => {
    const { run } = redriveWorld(letters(3));
    expect(await run({}, { counts: counting({}) })).toMatchObject({ handled: 3 });
  });

  it('continues after two empty receives between dead letters', async () => {
    const { run, deadLetters, bodies } = redriveWorld(letters(60));
    let polls = 0;
    const receive = (most: number, hiddenSeconds: number) =>
      ++polls % 3 === 0 ? deadLetters.receive(most, hiddenSeconds) : Promise.resolve([]);
    expect(await run({}, { receive })).toMatchObject({ handled: 60 });
    expect(bodies()).toHaveLength(60);
  });

  it('stops at its limit, and holds no further dead letters', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(70));
    const result = await run({ limit: 57 });
    expect(result).toMatchObject({ handled: 57, skipped: {}, left: 13, end: 'limit_reached' });
    expect(bodies()).toEqual(bodiesOf(57));
    expect(deadLetters.visible).toHaveLength(13);
  });

  it('leaves dead letters sent before `since`, and releases them', async () => {
    const since = START - 60_000;
    const earlier = Array.from({ length: 80 }, (_, n) => aLetter(100 + n, since - 1));
    const { run, bodies, deadLetters } = redriveWorld([
      aLetter(0, since - 1),
      aLetter(1, since),
      ...earlier,
      aLetter(2, since + 1),
    ]);
    expect(await run({ since })).toMatchObject({ handled: 2, skipped: {}, left: 81, end: 'emptied' });
    expect(bodies()).toEqual(['body-1', 'body-2']);
    expect(deadLetters.visible).toHaveLength(81);
  });

  it('skips unreadable dead letters, which stay, and counts them by reason and not as left', async () => {
    const { run, bodies, deadLetters } = redriveWorld([garbage(0), aLetter(1), garbage(2)]);
    expect(await run()).toMatchObject({ handled: 1, skipped: { not_json: 2 }, left: 0, end: 'emptied' });
    expect(bodies()).toEqual(['body-1']);
    expect(deadLetters.visible).toEqual(['letter-0', 'letter-2']);
  });

  it('counts an unreadable dead letter once if it is received again after five minutes', async () => {
    const { run, clock, deadLetters } = redriveWorld([garbage(0), aLetter(1)]);
    let polls = 0;
    const receive = async (most: number, hiddenSeconds: number) => {
      if (++polls === 2) await clock.sleep(300_000);
      return deadLetters.receive(most, hiddenSeconds);
    };
    expect(await run({}, { receive })).toMatchObject({ handled: 1, skipped: { not_json: 1 } });
  });

  it('stops before it holds more messages than SQS allows in flight', async () => {
    const { run, bodies } = redriveWorld([]);
    let count = 0;
    const letter = () => ({ ...aLetter((count += 1), START + 1), receipt: 'r' });
    const receive = (most: number) => Promise.resolve(Array.from({ length: most }, letter));
    const result = await run({}, { receive, counts: counting({ visible: 130_000 }) });
    expect(result).toMatchObject({ handled: 0, skipped: {}, left: 130_000, end: 'crowded' });
    expect({ count, bodies: bodies() }).toEqual({ count: 100_000, bodies: [] });
  });

  it('reports its progress after each batch', async () => {
    const { run } = redriveWorld([...letters(60), garbage(60), aLetter(61, START + 1)]);
    const tallies: unknown[] = [];
    await run({ onProgress: (tally) => tallies.push(tally) });
    expect(tallies).toEqual([
      { handled: 50, skipped: {}, left: 0 },
      { handled: 60, skipped: { not_json: 1 }, left: 1 },
    ]);
  });

  it.each([
    ['because it was sent after the start of this run', START + 1],
    ['also if the clock of SQS is behind', START - 500],
  ])('leaves a message that fails again for the next run, %s', async (_, sentAt) => {
    const { run, deadLetters } = redriveWorld(letters(3));
    // Each message is dead-lettered at once, under a new id.
    const send = (messages: readonly RedrivenMessage[]) => {
      deadLetters.put(...messages.map(({ body }, n) => ({ ...aLetter(1000 + n, sentAt), body })));
      return Promise.resolve();
    };
    expect(await run({}, { send })).toMatchObject({ handled: 3, skipped: {}, left: 3, end: 'emptied' });
    expect(deadLetters.visible).toHaveLength(3);
  });
});

it('a redrive ends although a dead letter arrives whenever it looks', async () => {
  const { run, deadLetters } = redriveWorld(letters(60));
  let looks = 0;
  const receive = (most: number, hiddenSeconds: number) => {
    if (++looks > 100) throw new Error('still looking');
    deadLetters.put(aLetter(1000 + looks, START + 1));
    return deadLetters.receive(most, hiddenSeconds);
  };
  expect(await run({}, { receive })).toMatchObject({ handled: 60, skipped: {}, end: 'emptied' });
  expect(deadLetters.visible).toHaveLength(looks);
});

describe('a run while another program holds dead letters', () => {
  it('counts those that it could not see', async () => {
    const { run, deadLetters } = redriveWorld(letters(12));
    await deadLetters.receive(5, 300);
    expect(await run()).toMatchObject({ handled: 7, left: 0, hidden: 5, total: 12, end: 'emptied' });
  });

  it('counts those that the other program received after the start', async () => {
    const { run, deadLetters } = redriveWorld(letters(50));
    let looks = 0;
    const counts = async () => {
      const counted = await deadLetters.counts();
      if (++looks === 1) await deadLetters.receive(30, 60);
      return counted;
    };
    expect(await run({}, { counts })).toMatchObject({ handled: 20, left: 0, hidden: 30, end: 'emptied' });
  });

  it('does not count those that were visible again during the run', async () => {
    const { run, deadLetters } = redriveWorld(letters(3));
    await deadLetters.receive(3, 1);
    expect(await run()).toMatchObject({ handled: 3, hidden: 0 });
  });

  it('does not count those that it held itself, if the counts of SQS lag behind', async () => {
    const { run } = redriveWorld(letters(3));
    expect(await run({}, { counts: counting({ visible: 3 }, { hidden: 3 }) })).toMatchObject({ hidden: 0 });
  });
});

describe('a run with a filter', () => {
  it('handles the wanted dead letters up to its limit, and releases all others', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(120));
    const result = await run({ wants: ({ body }) => body.endsWith('7'), limit: 3 });
    expect(result).toMatchObject({ handled: 3, left: 117, end: 'limit_reached' });
    expect(bodies()).toEqual(['body-7', 'body-17', 'body-27']);
    expect(deadLetters.visible).toHaveLength(117);
  });

  it('changes nothing if it is to keep the dead letters', async () => {
    const { run, steps, deadLetters } = redriveWorld([...letters(60), garbage(60)]);
    const handle = (all: readonly unknown[]) =>
      Promise.resolve(all.map(() => ({ kind: 'redriven' as const })));
    expect(await run({ keep: true, handle })).toMatchObject({
      handled: 60,
      skipped: { not_json: 1 },
      left: 0,
    });
    expect(steps).toEqual([]);
    expect(deadLetters.visible).toHaveLength(61);
  });
});

it('an interrupted redrive sends nothing before its first batch, and reports how many are left', async () => {
  const { run, steps } = redriveWorld([aLetter(900, START + 1), ...letters(3)]);
  expect(await run({ signal: AbortSignal.abort() })).toMatchObject({ left: 4, end: 'interrupted' });
  expect(steps).toEqual([]);
});

describe('a redrive that fails', () => {
  const failure = new Error('throttled');
  const fail = () => Promise.reject(failure);

  it('loses nothing between sending and removing: the next run sends the batch again', async () => {
    const { run, bodies, deadLetters } = redriveWorld(letters(2));
    const broken = run({}, { remove: fail });
    await expect(broken).rejects.toMatchObject({ handled: 0, causes: [failure] });
    await expect(broken).rejects.toBeInstanceOf(RunFailedError);
    expect(deadLetters.visible).toHaveLength(2);

    expect(await run()).toMatchObject({ handled: 2, left: 0 });
    expect(bodies()).toEqual(['body-0', 'body-1', 'body-0', 'body-1']);
  });

  it('keeps every dead letter if sending fails, reports the earlier ones, and releases all held ones', async () => {
    const world = redriveWorld([garbage(900), ...letters(70)]);
    let sends = 0;
    const send = (messages: readonly RedrivenMessage[]) => (++sends === 1 ? world.send(messages) : fail());
    await expect(world.run({}, { send })).rejects.toMatchObject({ handled: 49, cause: failure });
    expect(world.deadLetters.visible).toHaveLength(22);
  });

  it('also reports an error of releasing', async () => {
    const unreleased = new Error('unreleased');
    const release = () => Promise.reject(unreleased);
    const broken = redriveWorld(letters(1)).run({}, { receive: fail, release });
    await expect(broken).rejects.toMatchObject({ causes: [failure, unreleased] });
  });

  it.each([
    [1, 'The redrive stopped after 1 message: throttled.'],
    [1250, 'The redrive stopped after 1,250 messages: throttled.'],
  ])('says how many messages it redrove before: %i', (handled, sentence) => {
    const report = runProblem('The redrive', 'five minutes');
    expect(() => report(new RunFailedError(handled, [failure]))).toThrow(sentence);
  });
});
