import { describe, expect, it } from 'vitest';
import type { RedrivenMessage } from '../../../shared/domain/delivery/dead-letter.ts';
import { RunFailedError } from '../../../cli/dead-letters/run-result.ts';
import { runProblem } from '../../../cli/dead-letters/run-text.ts';
import { aLetter, letters, redriveWorld, START } from '../../support/in-memory/redrive-world.ts';

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
