import { describe, expect, it } from 'vitest';
import { WorkerRefusedError } from '../../../worker/consume.ts';
import { aWorker } from './fake-worker.ts';

const refusal = (name: string, message: string): Error =>
  Object.assign(new Error(message), { name, $fault: 'client' });

describe('a worker that receives', () => {
  it('polls an empty queue with long polls and pauses of 1, 2, 4, 8, 16, 32, 60, 60 s', async () => {
    const worker = aWorker();
    void worker.start();
    await worker.runFor(500);
    const { asked } = worker.queue();
    expect(asked.slice(0, 2)).toEqual([
      { at: 0, most: 10, waitSeconds: 0 },
      { at: 1, most: 10, waitSeconds: 20 },
    ]);
    const pauses = asked
      .slice(1)
      .map(({ at }, index) => at - ((asked[index]?.at ?? 0) + (index === 0 ? 0 : 20)));
    expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(worker.facts).toContainEqual({
      fact: 'polled',
      sqsQueue: 'delivery',
      trace: 'empty: slept 4 s, next 8 s',
      interval: 8,
    });
  });

  it('asks again at once after a message', async () => {
    const worker = aWorker();
    worker.queue().send('a');
    void worker.start();
    await worker.runFor(1);
    expect(worker.queue().asked.map(({ at }) => at)).toEqual([0, 0]);
    expect(worker.queue().left()).toEqual([]);
  });

  it('never receives more than it can start, from all of its loops together', async () => {
    const worker = aWorker({ concurrency: 3, receivers: 4, work: () => new Promise(() => undefined) });
    worker.queue().send(...Array.from({ length: 20 }, String));
    void worker.start();
    await worker.runFor(5);
    expect(worker.queue().received).toHaveLength(3);
    expect(worker.queue().asked.every(({ most }) => most <= 3)).toBe(true);
  });

  it('receives for several places at once when it is busy', async () => {
    const worker = aWorker({ concurrency: 10, work: (body) => worker.clock.sleep(Number(body)) });
    worker.queue().send(...Array.from({ length: 40 }, (_, index) => String(1_000 + (index % 10))));
    void worker.start();
    await worker.runFor(10);
    expect(worker.queue().received).toHaveLength(40);
    expect(
      worker
        .queue()
        .asked.slice(0, 4)
        .map(({ most }) => most),
    ).toEqual([10, 10, 10, 10]);
  });

  it('receives for a place as soon as it is free', async () => {
    const worker = aWorker({ concurrency: 2, work: (body) => worker.clock.sleep(Number(body) * 1000) });
    worker.queue().send('1', '9', '1', '1');
    void worker.start();
    await worker.runFor(4);
    expect(worker.queue().left()).toEqual(['9']);
  });

  it('acknowledges each record separately, and reports the one that failed', async () => {
    const fault = new Error('DynamoDB is down');
    const worker = aWorker({ work: (body) => (body === 'bad' ? Promise.reject(fault) : Promise.resolve()) });
    worker.queue().send('a', 'bad', 'c');
    void worker.start();
    await worker.runFor(1);
    expect(worker.queue().left()).toEqual(['bad']);
    expect(worker.faults).toEqual([fault]);
    expect(worker.queue().hidden).toEqual([{ bodies: ['bad'], seconds: 2 }]);
  });

  it('wakes the loops of its other queues when one receives a message, because it often causes others', async () => {
    const worker = aWorker({ queues: ['ingress', 'delivery'] });
    void worker.start();
    await worker.runFor(200);
    // Both sleep for up to a minute by now.
    worker.queue('ingress').send('a');
    await worker.runFor(60);
    expect(worker.queue('ingress').received).toEqual(['a']);
    expect(worker.facts).toContainEqual({
      fact: 'polled',
      sqsQueue: 'delivery',
      trace: 'woken: interval 1 s',
      interval: 1,
    });
  });

  it('hides a record again while it is being handled, so that it is received once', async () => {
    const worker = aWorker({ timeoutSeconds: 90, work: () => worker.clock.sleep(80_000) });
    worker.queue().send('slow');
    void worker.start();
    await worker.runFor(85);
    expect(worker.queue().received).toEqual(['slow']);
    expect(worker.queue().left()).toEqual([]);
  });

  it('gives up a record that outlives its timeout: its place is free, and SQS redelivers it', async () => {
    let calls = 0;
    const worker = aWorker({
      concurrency: 1,
      timeoutSeconds: 30,
      work: () => {
        calls += 1;
        return calls === 1 ? new Promise(() => undefined) : Promise.resolve();
      },
    });
    worker.queue().send('hangs');
    void worker.start();
    await worker.runFor(120);
    expect(worker.queue().received).toEqual(['hangs', 'hangs']);
    expect(worker.queue().left()).toEqual([]);
    expect(worker.faults).toMatchObject([{ name: 'RecordOverdueError' }]);
  });

  it('gives each record the time of its step, counted from its receive, and a separate id', async () => {
    const seen: { id: string; left: number }[] = [];
    const worker = aWorker({
      timeoutSeconds: 30,
      work: async (_, { awsRequestId, getRemainingTimeInMillis }) => {
        await worker.clock.sleep(4_000);
        seen.push({ id: awsRequestId, left: getRemainingTimeInMillis() });
      },
    });
    worker.queue().send('a', 'b');
    void worker.start();
    await worker.runFor(5);
    expect(seen.map(({ left }) => left)).toEqual([26_000, 26_000]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2);
  });

  it('writes its metrics and counters every second', async () => {
    const worker = aWorker();
    void worker.start();
    await worker.runFor(10.5);
    expect(worker.flushes()).toBe(10);
  });
});

describe('a worker that AWS refuses or throttles', () => {
  it('ends at its start with the permission that AWS names', async () => {
    const worker = aWorker();
    worker.queue().failure = refusal(
      'AccessDeniedException',
      'User: arn:aws:iam::1:user/x is not authorized to perform: sqs:receivemessage on resource: arn:aws:sqs:…',
    );
    const ended = expect(worker.start()).rejects.toThrow(
      /^Receiving from the delivery queue: AccessDeniedException: .* sqs:receivemessage/,
    );
    await worker.runFor(1);
    await ended;
  });

  it('ends at its start if it may not read the tables', async () => {
    const check = () =>
      Promise.reject(new WorkerRefusedError('Reading the tables for deliver', new Error('no')));
    const worker = aWorker({ check });
    const ended = expect(worker.start()).rejects.toThrow('Reading the tables for deliver: Error: no');
    await worker.runFor(1);
    await ended;
  });

  it('slows down while it is throttled, as on an empty queue', async () => {
    const worker = aWorker();
    worker.queue().failure = refusal('RequestThrottled', 'Rate exceeded');
    void worker.start();
    await worker.runFor(32);
    expect(worker.queue().asked.map(({ at }) => at)).toEqual([0, 1, 3, 7, 15, 31]);
    expect(worker.facts).toContainEqual({
      fact: 'aws_call_failed',
      awsService: 'sqs',
      reason: 'RequestThrottled',
      throttled: true,
      repeated: true,
    });
  });

  it('reports a permission that is lost later, and continues when it is back', async () => {
    const worker = aWorker();
    void worker.start();
    await worker.runFor(2);
    const lost = refusal('AccessDeniedException', 'not authorized');
    worker.queue().failure = lost;
    await worker.runFor(60);
    expect(worker.faults).toContain(lost);
    worker.queue().failure = undefined;
    worker.queue().send('a');
    await worker.runFor(60);
    expect(worker.queue().left()).toEqual([]);
  });
});

describe('reconcile in a worker', () => {
  it('runs at the start and then every minute until the stop', async () => {
    const runs: number[] = [];
    const worker = aWorker({
      queues: [],
      reconcile: () => {
        runs.push(worker.seconds());
        return Promise.resolve();
      },
    });
    const ended = worker.start();
    await worker.runFor(150);
    worker.stop();
    await worker.runFor(120);
    await ended;
    expect(runs).toEqual([0, 60, 120]);
  });

  it('continues after a run that failed, and ends with a refusal of the first', async () => {
    let runs = 0;
    const flaky = aWorker({
      queues: [],
      reconcile: () => {
        runs += 1;
        return Promise.reject(new Error('timeout'));
      },
    });
    void flaky.start();
    await flaky.runFor(61);
    expect(runs).toBe(2);
    expect(flaky.faults).toHaveLength(2);

    const refused = aWorker({
      queues: [],
      reconcile: () => Promise.reject(refusal('AccessDeniedException', 'dynamodb:Query')),
    });
    const ended = expect(refused.start()).rejects.toThrow('dynamodb:Query');
    await refused.runFor(1);
    await ended;
  });
});

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
