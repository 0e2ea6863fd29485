import { describe, expect, it } from 'vitest';
import { poll } from '../../../shared/steps/poll.ts';

type Look = 'message' | 'changed' | 'empty' | 'failed';

/** The sleeps in seconds and the trace of a poller that finds this and is then done. */
const polled = async (
  looks: readonly Look[],
  { decrease = 'reset', wokenAt }: { decrease?: 'reset' | 'gradual'; wokenAt?: number } = {},
) => {
  const sleeps: number[] = [];
  const traces: string[] = [];
  const left = [...looks];
  await poll(
    {
      interval: { decrease },
      sleep: (milliseconds) => {
        sleeps.push(milliseconds / 1000);
        return Promise.resolve(sleeps.length === wokenAt ? 'woken' : undefined);
      },
      trace: (line) => traces.push(line),
    },
    () => Promise.resolve(left.shift() ?? 'done'),
  );
  return { sleeps, traces };
};

const empty = (times: number): Look[] => Array.from({ length: times }, () => 'empty');

describe('the poller', () => {
  it('asks at once after a message, and then sleeps from the floor again', async () => {
    const { sleeps, traces } = await polled([...empty(4), 'message', 'message', ...empty(2)]);
    expect(sleeps).toEqual([1, 2, 4, 8, 1, 2]);
    expect(traces.filter((line) => line.startsWith('message'))).toEqual(['message: interval 1 s']);
  });

  it('halves the interval after each message with a gradual decrease', async () => {
    const { sleeps } = await polled([...empty(5), 'message', 'message', 'empty'], { decrease: 'gradual' });
    expect(sleeps).toEqual([1, 2, 4, 8, 16, 8]);
  });

  it('backs off after failures as after empty looks', async () => {
    const { sleeps, traces } = await polled(['failed', 'empty', 'failed', 'message', 'failed']);
    expect(sleeps).toEqual([1, 2, 4, 1]);
    expect(traces[2]).toBe('failed: slept 4 s, next 8 s');
  });

  it('returns to the floor when its sleep is ended by work elsewhere', async () => {
    const { sleeps, traces } = await polled(empty(5), { wokenAt: 4 });
    expect(sleeps).toEqual([1, 2, 4, 8, 1]);
    expect(traces[3]).toBe('woken: interval 1 s');
  });

  it('sleeps for the shortened interval after a change of what it watches', async () => {
    const { sleeps } = await polled([...empty(3), 'changed', 'empty', 'empty']);
    expect(sleeps).toEqual([1, 2, 4, 1, 1, 2]);
  });
});
