import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { bounds } from '../../hostile/bounds.ts';
import { allKinds, kindNames, type KindName } from '../../hostile/kinds/all-kinds.ts';
import { measureKinds, type KindsResult } from '../../hostile/measure-kinds.ts';
import { startReceivers } from '../../hostile/run.ts';

const ATTEMPT_TIMEOUT_MS = 4_000;
/** Together ten concurrent deliveries, the batch size of the function. */
const AT_ONCE = 2;
const SIDE_BY_SIDE = 5;

/** A short form of `npm run hostile`: all kinds, five at a time, in one function process. */
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
    'records the expected outcome in time, with one connection per attempt: $what',
    ({ name }) => {
      expect(result.kinds.find(({ kind }) => kind === name)?.attempts).toBeGreaterThanOrEqual(AT_ONCE);
      expect(brokenBy(name)).toEqual([]);
    },
  );

  it('acknowledges every message, as soon as the slowest attempt is over', () => {
    expect(result.broken).toEqual([]);
    expect(result.invocationMs).toBeLessThan(ATTEMPT_TIMEOUT_MS + bounds.beyondTimeoutMs);
  });

  it('uses less than 200 MB beyond its idle memory with all kinds of receivers', () => {
    expect(result.memory).toBeLessThan(200 * 1024 * 1024);
  });
});
