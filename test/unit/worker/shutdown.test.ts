import { describe, expect, it } from 'vitest';
import { aWorker } from './fake-worker.ts';

describe('a worker that is stopped', () => {
  it('receives nothing more, finishes what is in flight, and ends', async () => {
    const worker = aWorker({ concurrency: 2, work: () => worker.clock.sleep(10_000) });
    worker.queue().send('a', 'b', 'c');
    const ended = worker.start();
    await worker.runFor(1);
    worker.stop();
    await worker.runFor(30);
    expect(await ended).toEqual({ unfinished: 0 });
    expect(worker.queue().received).toEqual(['a', 'b']);
    expect(worker.queue().left()).toEqual(['c']);
  });

  it.each([5, 160])(
    'ends within a second when it is idle, in a long poll or a sleep (at %i s)',
    async (seconds) => {
      const worker = aWorker({ receivers: 3 });
      const ended = worker.start();
      await worker.runFor(seconds);
      worker.stop();
      await worker.runFor(1.2);
      expect(await ended).toEqual({ unfinished: 0 });
    },
  );

  it('shows the messages of a receive that ends with the stop to others at once', async () => {
    const worker = aWorker();
    const queue = worker.queue();
    const { receive } = queue;
    queue.receive = async (...given) => {
      const records = await receive(...given);
      worker.stop();
      return records;
    };
    queue.send('a');
    const ended = worker.start();
    await worker.runFor(1);
    expect(await ended).toEqual({ unfinished: 0 });
    expect(queue.hidden).toEqual([{ bodies: ['a'], seconds: 0 }]);
  });

  it('leaves records less time than until its end, so that no new attempt begins', async () => {
    let left = Number.NaN;
    const worker = aWorker({
      timeoutSeconds: 60,
      shutdownSeconds: 20,
      work: async (_, { getRemainingTimeInMillis }) => {
        await worker.clock.sleep(5_000);
        left = getRemainingTimeInMillis();
      },
    });
    worker.queue().send('a');
    const ended = worker.start();
    await worker.runFor(1);
    worker.stop();
    await worker.runFor(30);
    await ended;
    // 20 s, without the 2 s kept for the end and the 4 s since the stop.
    expect(left).toBe(14_000);
  });

  it('ends before the limit although a record does not, and says how many are left', async () => {
    const worker = aWorker({ shutdownSeconds: 25, work: () => new Promise(() => undefined) });
    worker.queue().send('a', 'b');
    const ended = worker.start();
    await worker.runFor(1);
    worker.stop();
    await worker.runFor(23);
    expect(await ended).toEqual({ unfinished: 2 });
    expect(worker.seconds()).toBe(24);
  });
});
