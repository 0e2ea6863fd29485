import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { handler } from '../../bench/lateness/bare/wait-and-post.ts';
import type { Cell } from '../../bench/lateness/cells.ts';
import { measureLateness } from '../../bench/lateness/measure.ts';
import { playOut, releasesOf, type Release } from '../../bench/lateness/releases.ts';
import { BARE_PATH, startSubscriber } from '../../bench/lateness/subscriber.ts';
import { Problem } from '../../local/install/problem.mjs';

const cells: readonly Cell[] = [
  { by: 'sqs_delay', delaySeconds: 1 },
  { by: 'sqs_delay', delaySeconds: 60 },
];

const never = new AbortController().signal;

describe('the messages of all cells', () => {
  const releases = releasesOf(cells, { count: 100, seconds: 100 });

  it('are as many of each, each once, in the order of their times', () => {
    const ids = new Set(releases.map(({ cell, number }) => `${cell.delaySeconds}-${number}`));
    expect([releases.length, ids.size]).toEqual([200, 200]);
    expect(releases).toEqual(releases.toSorted((one, other) => one.afterMs - other.afterMs));
  });

  it('leave the last of each cell its delay', () => {
    for (const cell of cells) {
      const times = releases.filter((release) => release.cell === cell).map(({ afterMs }) => afterMs);
      expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...times)).toBeLessThan((100 - cell.delaySeconds) * 1000);
      expect(Math.max(...times)).toBeGreaterThan((100 - cell.delaySeconds) * 980);
    }
  });

  it('are as far from each other at any time', () => {
    const times = releases.filter(({ cell }) => cell === cells[1]).map(({ afterMs }) => afterMs);
    const apart = times.slice(1).map((time, index) => time - (times[index] ?? Number.NaN));
    for (const gap of apart) expect(gap).toBeCloseTo(400);
  });
});

describe('what is sent at its time', () => {
  const [cell = { by: 'sqs_delay', delaySeconds: 1 }] = cells;
  const at = (afterMs: number, number: number): Release => ({ afterMs, cell, number });

  it('is sent once and in order, never before, and what came meanwhile goes along', async () => {
    const start = performance.now();
    const sent: { after: number; numbers: number[] }[] = [];
    const releases = [at(0, 0), at(5, 1), at(6, 2), at(60, 3)];
    await playOut(
      releases,
      async (due) => {
        const after = performance.now() - start;
        sent.push({ after, numbers: due.map(({ number }) => number) });
        // Longer than until the next two.
        if (sent.length === 1) await vi.waitUntil(() => performance.now() - start > 20, { interval: 1 });
      },
      never,
    );
    expect(sent.map(({ numbers }) => numbers)).toEqual([[0], [1, 2], [3]]);
    // Timers count whole milliseconds.
    expect(sent[2]?.after).toBeGreaterThanOrEqual(59);
  });

  it('is nothing more once it is to stop', async () => {
    const stopping = new AbortController();
    const sent: number[] = [];
    const playing = playOut(
      [at(0, 0), at(600_000, 1)],
      (due) => {
        sent.push(...due.map(({ number }) => number));
        stopping.abort();
        return Promise.resolve();
      },
      stopping.signal,
    );
    await expect(playing).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(sent).toEqual([0]);
  });
});

describe('the subscriber', () => {
  let stack: AsyncDisposableStack;
  beforeEach(() => {
    stack = new AsyncDisposableStack();
  });
  afterEach(() => stack.disposeAsync());

  const post = async (url: string, id: string): Promise<number> =>
    (await fetch(url, { method: 'POST', headers: { 'webhook-id': id } })).status;

  it('fails the first request for each message and takes the others, and says when they came', async () => {
    const subscriber = await startSubscriber(stack, ['/one', '/other']);
    const before = Date.now();
    const statuses = [];
    for (const id of ['a', 'b', 'a', 'a']) statuses.push(await post(subscriber.url('/one'), id));
    expect(statuses).toEqual([503, 503, 200, 200]);
    expect(subscriber.arrivals('a')).toHaveLength(3);
    expect(subscriber.arrivals('b')[0]).toBeGreaterThanOrEqual(before);
    expect(subscriber.arrivals('unknown')).toEqual([]);
  });

  it('takes the first of the bare function, which waits until it is due and no longer', async () => {
    const subscriber = await startSubscriber(stack, []);
    const url = subscriber.url(BARE_PATH);
    const now = Date.now();
    const records = [
      { id: 'early', url, dueAt: now + 80 },
      { id: 'late', url, dueAt: now - 1_000 },
    ];
    const log = vi.spyOn(console, 'log').mockReturnValue();
    await handler({ Records: records.map((record) => ({ body: JSON.stringify(record) })) });
    log.mockRestore();
    expect(subscriber.arrivals('early')[0]).toBeGreaterThanOrEqual(now + 80);
    expect(subscriber.arrivals('late')[0]).toBeLessThan(now + 80);
    expect(await post(url, 'another')).toBe(200);
  });
});

describe('npm run bench:lateness', () => {
  it('answers what it does not know with a usage line, and measures nothing', () => {
    const entry = new URL('../../bench/lateness/lateness.ts', import.meta.url).pathname;
    const { status, stdout, stderr } = spawnSync(process.execPath, [entry, '--fast'], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^usage: npm run bench:lateness /);
  });

  it('starts nothing on a machine whose memory two local AWSs do not fit into', async () => {
    const memory = vi.spyOn(process, 'availableMemory').mockReturnValue(4 * 2 ** 30 - 1);
    const stack = new AsyncDisposableStack();
    const say = vi.fn();
    const measuring = measureLateness('short', { stack, signal: never, say });
    await expect(measuring).rejects.toThrow(
      new Problem('This needs 4 GB of memory that is not in use. Nothing was measured.'),
    );
    memory.mockRestore();
    expect(say).not.toHaveBeenCalled();
  });
});
