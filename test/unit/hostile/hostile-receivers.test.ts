import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { bounds } from '../../hostile/bounds.ts';
import { allKinds, kindNames, type KindName } from '../../hostile/kinds/all-kinds.ts';
import { measureKinds, type KindsResult } from '../../hostile/measure-kinds.ts';
import { startReceivers } from '../../hostile/run.ts';

const ATTEMPT_TIMEOUT_MS = 4_000;
/** Together ten, as many as a function has under way. */
const AT_ONCE = 2;
const SIDE_BY_SIDE = 5;

/** The short form of `npm run hostile`: all kinds, five at a time, in one process of the function. */
describe('the deliver function at hostile receivers', () => {
  const stack = new AsyncDisposableStack();
  let result: KindsResult;

  beforeAll(async () => {
    const processes = { stack, signal: new AbortController().signal };
    const receivers = await startReceivers(processes, kindNames);
    result = await measureKinds(processes, receivers, {
      names: kindNames,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      atOnce: AT_ONCE,
      sideBySide: SIDE_BY_SIDE,
    });
  }, 90_000);
  afterAll(() => stack.disposeAsync());

  const brokenBy = (name: KindName): string[] => result.broken.filter((what) => what.startsWith(`${name}: `));

  it.each(kindNames.map((name) => ({ name, what: allKinds[name].what })))(
    'comes to a named outcome in time, with one request an attempt: $what',
    ({ name }) => {
      expect(result.kinds.find(({ kind }) => kind === name)?.attempts).toBeGreaterThanOrEqual(AT_ONCE);
      expect(brokenBy(name)).toEqual([]);
    },
  );

  it('leaves no message to come again, and acknowledges when the slowest attempt is over', () => {
    expect(result.broken).toEqual([]);
    expect(result.invocationMs).toBeLessThan(ATTEMPT_TIMEOUT_MS + bounds.beyondTimeoutMs);
  });

  it('stays within 200 MB of what it needs at rest, whichever of them are at it', () => {
    expect(result.memory).toBeLessThan(200 * 1024 * 1024);
  });
});
