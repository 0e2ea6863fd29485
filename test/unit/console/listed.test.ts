import { expect, it } from 'vitest';
import { firstWithin } from '../../../console/src/api/listed.ts';

/** Lists two items, then waits until it is aborted. */
const twoThenNothing = async function* (signal: AbortSignal): AsyncGenerator<number> {
  yield 1;
  yield 2;
  await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(new Error('aborted'));
    });
  });
};

const open = new AbortController().signal;

it('firstWithin returns what it has read when the time is up, and says that there may be more', async () => {
  const read = firstWithin(twoThenNothing, 5, { milliseconds: 10, signal: open });
  expect(await read).toEqual({ items: [1, 2], more: true });
});

it('firstWithin stops at the number of items asked for', async () => {
  const read = firstWithin(twoThenNothing, 1, { milliseconds: 60_000, signal: open });
  expect(await read).toEqual({ items: [1], more: true });
});

it('firstWithin fails when the page is left', async () => {
  const left = new AbortController();
  const read = firstWithin(twoThenNothing, 5, { milliseconds: 60_000, signal: left.signal });
  setImmediate(() => {
    left.abort();
  });
  await expect(read).rejects.toThrow('aborted');
});
