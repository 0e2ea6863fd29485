import { randomUUID } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it, vi, afterEach, beforeEach } from 'vitest';
import type { InvocationContext } from '../../../shared/domain/receives.ts';
import type { WorkQueueName } from '../../../shared/domain/work-queues.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import { WorkerRefusedError } from '../../../worker/consume.ts';
import { type ConsumingStep, runWorker, type WorkerOptions, type WorkerState } from '../../../worker/run.ts';
import type { WorkerClock } from '../../../worker/timing.ts';
import { HIDDEN_SECONDS, type WorkQueue } from '../../../worker/work-queue.ts';
import { virtualClock, type VirtualClock } from '../../support/in-memory/virtual-clock.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { type HealthServer, startHealthServer } from '../../../worker/health.ts';

type Message = { record: SQSRecord; receives: number; visibleAt: number };

/** A standard SQS queue in virtual time: long polls, visibility timeouts, and a log of the requests. */
type FakeQueue = WorkQueue & {
  send: (...bodies: readonly string[]) => void;
  /** Bodies of messages that were not deleted. */
  left: () => string[];
  /** Times of the receives in seconds from the start, and how many messages each asked for. */
  asked: { at: number; most: number; waitSeconds: number }[];
  /** Bodies of the messages that each receive got. */
  received: string[];
  /** Receives fail with this error while it is set. */
  failure: Error | undefined;
  hidden: { bodies: string[]; seconds: number }[];
};

const STEP_MS = 100;

const fakeQueue = (name: WorkQueueName, clock: VirtualClock): FakeQueue => {
  const start = clock.now();
  let messages: Message[] = [];
  const visible = (): Message[] => messages.filter(({ visibleAt }) => visibleAt <= clock.now());
  const queue: FakeQueue = {
    name,
    asked: [],
    received: [],
    hidden: [],
    failure: undefined,
    send: (...bodies) => {
      for (const body of bodies)
        messages.push({ record: anSqsRecord(body), receives: 0, visibleAt: clock.now() });
    },
    left: () => messages.map(({ record }) => record.body),
    receive: async (most, waitSeconds, signal) => {
      queue.asked.push({ at: (clock.now() - start) / 1000, most, waitSeconds });
      const until = clock.now() + waitSeconds * 1000;
      if (queue.failure !== undefined) throw queue.failure;
      while (visible().length === 0 && clock.now() < until && !signal.aborted) await clock.sleep(STEP_MS);
      if (signal.aborted) throw new DOMException('aborted', 'AbortError');
      return visible()
        .slice(0, most)
        .map((message) => {
          const { messageId, body } = message.record;
          message.receives += 1;
          message.visibleAt = clock.now() + HIDDEN_SECONDS * 1000;
          const receiptHandle = randomUUID();
          message.record = { ...anSqsRecord(body, message.receives), messageId, receiptHandle };
          queue.received.push(body);
          return message.record;
        });
    },
    remove: ({ receiptHandle }) => {
      messages = messages.filter(({ record }) => record.receiptHandle !== receiptHandle);
      return Promise.resolve();
    },
    hide: (records, seconds) => {
      const receipts = new Set(records.map(({ receiptHandle }) => receiptHandle));
      const found = messages.filter(({ record }) => receipts.has(record.receiptHandle));
      queue.hidden.push({ bodies: found.map(({ record }) => record.body), seconds });
      for (const message of found) message.visibleAt = clock.now() + seconds * 1000;
      return Promise.resolve();
    },
  };
  return queue;
};

/** What a record's work does: how long it takes in virtual seconds, and whether it fails. */
type Work = (body: string, context: InvocationContext) => Promise<void>;

const DEFAULTS = {
  queues: ['delivery'] as readonly WorkQueueName[],
  /** In the first queue from the start. */
  messages: [] as readonly string[],
  work: ((): Promise<void> => Promise.resolve()) as Work,
  receivers: 1,
  concurrency: 10,
  timeoutSeconds: 30,
  shutdownSeconds: 25,
  check: (): Promise<void> => Promise.resolve(),
};

type Options = Partial<typeof DEFAULTS> & { reconcile?: () => Promise<void> };

/** A worker on fake queues in virtual time. */
const aWorker = ({ reconcile, ...options }: Options = {}) => {
  const given = { ...DEFAULTS, ...options };
  const clock = virtualClock();
  const startedAt = clock.now();
  const queues = new Map(given.queues.map((name) => [name, fakeQueue(name, clock)]));
  const [queue] = queues.values();
  queue?.send(...given.messages);
  const facts: Fact[] = [];
  const faults: unknown[] = [];
  const flush = vi.fn<() => void>();
  const journal: ConsumingStep['journal'] = {
    note: (fact) => facts.push(fact),
    fault: (error) => faults.push(error),
    flush,
    auditLogger: new Logger(),
  };
  const returnSooner = async (record: SQSRecord): Promise<void> => {
    for (const queue of queues.values()) await queue.hide([record], 2);
  };
  const handleRecord = ({ body }: SQSRecord, context: InvocationContext) => given.work(body, context);
  const controller = new AbortController();
  const worker: WorkerOptions = {
    steps: {
      consuming: [
        {
          name: 'deliver',
          journal,
          queues: given.queues.map((name) => ({ name, url: `https://sqs/${name}` })),
          handling: { handleRecord, returnSooner },
          timeoutMs: given.timeoutSeconds * 1000,
          check: given.check,
        },
      ],
      ...(reconcile !== undefined && { reconcile: { journal, run: reconcile } }),
    },
    limits: { receivers: given.receivers, concurrency: given.concurrency, interval: {} },
    shutdownSeconds: given.shutdownSeconds,
    signal: controller.signal,
    clock: workerClockOn(clock),
    openQueue: ({ name }) => queueIn(queues, name),
  };
  const runFor = (seconds: number) => clock.run(clock.now() + seconds * 1000);
  return {
    clock,
    /** One of its queues, by default the only one. */
    queue: (name: WorkQueueName = 'delivery') => queueIn(queues, name),
    facts,
    faults,
    flush,
    seconds: () => (clock.now() - startedAt) / 1000,
    /** Runs for this many seconds of virtual time. */
    runFor,
    /** Starts, and runs for this many seconds. */
    run: (seconds: number): Promise<void> => {
      void runWorker(worker);
      return runFor(seconds);
    },
    stop: () => {
      controller.abort();
    },
    /** Starts, stops after this many seconds if at all, and runs for `more`. Returns how it ended. */
    end: async (seconds: number, more?: number) => {
      const lasting = async (): Promise<void> => {
        await runFor(seconds);
        if (more === undefined) return;
        controller.abort();
        await runFor(more);
      };
      const [ended] = await Promise.all([runWorker(worker), lasting()]);
      return ended;
    },
  };
};

const queueIn = (queues: ReadonlyMap<WorkQueueName, FakeQueue>, name: WorkQueueName): FakeQueue => {
  const found = queues.get(name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
};

/** Sleeps in virtual time, which an aborted signal ends. */
const workerClockOn = (clock: VirtualClock): WorkerClock => ({
  now: () => clock.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      const aborted = (): void => {
        reject(new DOMException('aborted', 'AbortError'));
      };
      if (signal?.aborted === true) aborted();
      signal?.addEventListener('abort', aborted, { once: true });
      clock.at(clock.now() + milliseconds, () => {
        resolve(undefined);
      });
    }),
});

const refusal = (name: string, message: string): Error =>
  Object.assign(new Error(message), { name, $fault: 'client' });

const never = new Promise<never>(() => undefined);

describe('a worker that receives', () => {
  const polled = (trace: string, interval: number) => {
    return { fact: 'polled', sqsQueue: 'delivery', trace, interval };
  };

  it('polls an empty queue with long polls and pauses of 1, 2, 4, 8, 16, 32, 60, 60 s', async () => {
    const worker = aWorker();
    await worker.run(500);
    const { asked } = worker.queue();
    expect(asked.slice(0, 2)).toEqual([
      { at: 0, most: 10, waitSeconds: 0 },
      { at: 1, most: 10, waitSeconds: 20 },
    ]);
    const pauses = asked
      .slice(1)
      .map(({ at }, index) => at - ((asked[index]?.at ?? 0) + (index === 0 ? 0 : 20)));
    expect(pauses.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(worker.facts).toContainEqual(polled('empty: slept 4 s, next 8 s', 8));
  });

  it('asks again at once after a message', async () => {
    const worker = aWorker({ messages: ['a'] });
    await worker.run(1);
    expect(worker.queue().asked.map(({ at }) => at)).toEqual([0, 0]);
    expect(worker.queue().left()).toEqual([]);
  });

  it('never receives more than it can start, from all of its loops together', async () => {
    const messages = Array.from({ length: 20 }, String);
    const worker = aWorker({ messages, concurrency: 3, receivers: 4, work: () => never });
    await worker.run(5);
    expect(worker.queue().received).toHaveLength(3);
    expect(worker.queue().asked.every(({ most }) => most <= 3)).toBe(true);
  });

  it('receives for several places at once when it is busy', async () => {
    const messages = Array.from({ length: 40 }, (_, index) => String(1_000 + (index % 10)));
    const worker = aWorker({ messages, concurrency: 10, work: (body) => worker.clock.sleep(Number(body)) });
    await worker.run(10);
    expect(worker.queue().received).toHaveLength(40);
    expect(worker.queue().asked.slice(0, 4)).toMatchObject(Array(4).fill({ most: 10 }));
  });

  it('receives for a place as soon as it is free', async () => {
    const worker = aWorker({
      messages: ['1', '9', '1', '1'],
      concurrency: 2,
      work: (body) => worker.clock.sleep(Number(body) * 1000),
    });
    await worker.run(4);
    expect(worker.queue().left()).toEqual(['9']);
  });

  it('acknowledges each record separately, and reports the one that failed', async () => {
    const fault = new Error('DynamoDB is down');
    const worker = aWorker({
      messages: ['a', 'bad', 'c'],
      work: (body) => (body === 'bad' ? Promise.reject(fault) : Promise.resolve()),
    });
    await worker.run(1);
    expect(worker.queue().left()).toEqual(['bad']);
    expect(worker.faults).toEqual([fault]);
    expect(worker.queue().hidden).toEqual([{ bodies: ['bad'], seconds: 2 }]);
  });

  it('wakes the loops of its other queues when one receives a message, because it often causes others', async () => {
    const worker = aWorker({ queues: ['ingress', 'delivery'] });
    await worker.run(200);
    // Both sleep for up to a minute by now.
    worker.queue('ingress').send('a');
    await worker.runFor(60);
    expect(worker.queue('ingress').received).toEqual(['a']);
    expect(worker.facts).toContainEqual(polled('woken: interval 1 s', 1));
  });

  it('hides a record again while it is being handled, so that it is received once', async () => {
    const work = () => worker.clock.sleep(80_000);
    const worker = aWorker({ messages: ['slow'], timeoutSeconds: 90, work });
    await worker.run(85);
    expect(worker.queue().received).toEqual(['slow']);
    expect(worker.queue().left()).toEqual([]);
  });

  it('gives up a record that outlives its timeout: its place is free, and SQS redelivers it', async () => {
    const work = vi.fn<() => Promise<void>>().mockResolvedValue().mockReturnValueOnce(never);
    const worker = aWorker({ messages: ['hangs'], concurrency: 1, timeoutSeconds: 30, work });
    await worker.run(120);
    expect(worker.queue().received).toEqual(['hangs', 'hangs']);
    expect(worker.queue().left()).toEqual([]);
    expect(worker.faults).toMatchObject([{ name: 'RecordOverdueError' }]);
  });

  it('gives each record the time of its step, counted from its receive', async () => {
    const seen: number[] = [];
    const worker = aWorker({
      messages: ['a', 'b'],
      timeoutSeconds: 30,
      work: async (_, { getRemainingTimeInMillis }) => {
        await worker.clock.sleep(4_000);
        seen.push(getRemainingTimeInMillis());
      },
    });
    await worker.run(5);
    expect(seen).toEqual([26_000, 26_000]);
  });

  it('writes its metrics and counters every second, and at its end', async () => {
    const worker = aWorker();
    await worker.end(10.5, 2);
    expect(worker.flush).toHaveBeenCalledTimes(12);
  });
});

describe('a worker that AWS refuses or throttles', () => {
  it('ends at its start with the permission that AWS names', async () => {
    const worker = aWorker();
    worker.queue().failure = refusal(
      'AccessDeniedException',
      'User: arn:aws:iam::1:user/x is not authorized to perform: sqs:receivemessage on resource: arn:aws:sqs:…',
    );
    await expect(worker.end(1)).rejects.toThrow(
      /^Receiving from the delivery queue: AccessDeniedException: .* sqs:receivemessage/,
    );
  });

  it('ends at its start if it may not read the tables', async () => {
    const check = () =>
      Promise.reject(new WorkerRefusedError('Reading the tables for deliver', new Error('no')));
    const worker = aWorker({ check });
    await expect(worker.end(1)).rejects.toThrow('Reading the tables for deliver: Error: no');
  });

  it('slows down while it is throttled, as on an empty queue', async () => {
    const worker = aWorker();
    worker.queue().failure = refusal('RequestThrottled', 'Rate exceeded');
    await worker.run(32);
    expect(worker.queue().asked.map(({ at }) => at)).toEqual([0, 1, 3, 7, 15, 31]);
    const failed = { fact: 'aws_call_failed', awsService: 'sqs', reason: 'RequestThrottled' };
    expect(worker.facts).toContainEqual({ ...failed, throttled: true, repeated: true });
  });

  it('reports a permission that is lost later, and continues when it is back', async () => {
    const worker = aWorker();
    await worker.run(2);
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
    await worker.end(150, 120);
    expect(runs).toEqual([0, 60, 120]);
  });

  it('continues after a run that failed', async () => {
    const reconcile = vi.fn<() => Promise<void>>().mockRejectedValue(new Error('timeout'));
    const worker = aWorker({ queues: [], reconcile });
    await worker.run(61);
    expect(reconcile).toHaveBeenCalledTimes(2);
    expect(worker.faults).toHaveLength(2);
  });

  it('ends the worker with a refusal of the first run', async () => {
    const refused = () => Promise.reject(refusal('AccessDeniedException', 'dynamodb:Query'));
    await expect(aWorker({ queues: [], reconcile: refused }).end(1)).rejects.toThrow('dynamodb:Query');
  });
});

describe('a worker that is stopped', () => {
  it('receives nothing more, finishes what is in flight, and ends', async () => {
    const work = () => worker.clock.sleep(10_000);
    const worker = aWorker({ messages: ['a', 'b', 'c'], concurrency: 2, work });
    expect(await worker.end(1, 30)).toEqual({ unfinished: 0 });
    expect(worker.queue().received).toEqual(['a', 'b']);
    expect(worker.queue().left()).toEqual(['c']);
  });

  it.each([5, 160])(
    'ends within a second when it is idle, in a long poll or a sleep (at %i s)',
    async (seconds) => {
      expect(await aWorker({ receivers: 3 }).end(seconds, 1.2)).toEqual({ unfinished: 0 });
    },
  );

  it('shows the messages of a receive that ends with the stop to others at once', async () => {
    const worker = aWorker({ messages: ['a'] });
    const queue = worker.queue();
    const { receive } = queue;
    queue.receive = async (...given) => {
      const records = await receive(...given);
      worker.stop();
      return records;
    };
    expect(await worker.end(1)).toEqual({ unfinished: 0 });
    expect(queue.hidden).toEqual([{ bodies: ['a'], seconds: 0 }]);
  });

  it('leaves records less time than until its end, so that no new attempt begins', async () => {
    let left = Number.NaN;
    const worker = aWorker({
      messages: ['a'],
      timeoutSeconds: 60,
      shutdownSeconds: 20,
      work: async (_, { getRemainingTimeInMillis }) => {
        await worker.clock.sleep(5_000);
        left = getRemainingTimeInMillis();
      },
    });
    await worker.end(1, 30);
    // 20 s, without the 2 s kept for the end and the 4 s since the stop.
    expect(left).toBe(14_000);
  });

  it('ends before the limit although a record does not, and says how many are left', async () => {
    const worker = aWorker({ messages: ['a', 'b'], shutdownSeconds: 25, work: () => never });
    expect(await worker.end(1, 23)).toEqual({ unfinished: 2 });
    expect(worker.seconds()).toBe(24);
  });
});

let server: HealthServer;
let state: WorkerState;

beforeEach(async () => {
  state = { status: 'starting', queues: { delivery: { inFlight: 0 } } };
  server = await startHealthServer({ host: '127.0.0.1', port: 0 }, () => state);
});

afterEach(() => server.close());

const statusOf = async (path: string, method = 'GET'): Promise<number> =>
  (await fetch(`${server.url}${path}`, { method })).status;

it.each([
  ['starting', 503],
  ['ready', 200],
  ['stopping', 503],
] as const)('a worker that is %s answers /ready with %i, and /health with 200', async (status, expected) => {
  state = { ...state, status };
  expect(await statusOf('/ready')).toBe(expected);
  expect(await statusOf('/health')).toBe(200);
});

it('shows the state with the messages in flight', async () => {
  state = { status: 'ready', queues: { delivery: { inFlight: 3 } } };
  const response = await fetch(`${server.url}/ready`);
  expect(await response.json()).toEqual(state);
});

it('has no other route, and changes nothing', async () => {
  expect(await statusOf('/')).toBe(404);
  expect(await statusOf('/health?x=1')).toBe(404);
  expect(await statusOf('/health', 'POST')).toBe(405);
});
