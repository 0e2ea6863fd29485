import { randomUUID } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import type { SQSRecord } from 'aws-lambda';
import type { WorkQueueName } from '../../../shared/domain/work-queues.ts';
import type { Fact } from '../../../shared/ports/journal.ts';
import type { InvocationContext } from '../../../shared/domain/receives.ts';
import { runWorker, type WorkerOptions } from '../../../worker/run.ts';
import type { ConsumingStep } from '../../../worker/steps.ts';
import type { WorkerClock } from '../../../worker/timing.ts';
import { HIDDEN_SECONDS, type WorkQueue } from '../../../worker/work-queue.ts';
import { virtualClock, type VirtualClock } from '../../support/in-memory/virtual-clock.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

type Message = { id: string; body: string; receives: number; visibleAt: number; receipt: string };

/** A standard SQS queue in virtual time: long polls, visibility timeouts, and a log of the requests. */
export type FakeQueue = WorkQueue & {
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

export const fakeQueue = (name: WorkQueueName, clock: VirtualClock): FakeQueue => {
  const start = clock.now();
  let messages: Message[] = [];
  const visible = (): Message[] => messages.filter(({ visibleAt }) => visibleAt <= clock.now());
  const withReceipt = (records: readonly SQSRecord[]): Message[] =>
    messages.filter(({ receipt }) => records.some(({ receiptHandle }) => receiptHandle === receipt));
  const queue: FakeQueue = {
    name,
    asked: [],
    received: [],
    hidden: [],
    failure: undefined,
    send: (...bodies) => {
      for (const body of bodies)
        messages.push({ id: randomUUID(), body, receives: 0, visibleAt: clock.now(), receipt: '' });
    },
    left: () => messages.map(({ body }) => body),
    receive: async (most, waitSeconds, signal) => {
      queue.asked.push({ at: (clock.now() - start) / 1000, most, waitSeconds });
      const until = clock.now() + waitSeconds * 1000;
      if (queue.failure !== undefined) throw queue.failure;
      while (visible().length === 0 && clock.now() < until && !signal.aborted) await clock.sleep(STEP_MS);
      if (signal.aborted) throw new DOMException('aborted', 'AbortError');
      return visible()
        .slice(0, most)
        .map((message) => {
          message.receives += 1;
          message.visibleAt = clock.now() + HIDDEN_SECONDS * 1000;
          message.receipt = randomUUID();
          queue.received.push(message.body);
          const record = anSqsRecord(message.body, message.receives);
          return { ...record, messageId: message.id, receiptHandle: message.receipt };
        });
    },
    remove: (record) => {
      messages = messages.filter(({ receipt }) => receipt !== record.receiptHandle);
      return Promise.resolve();
    },
    hide: (records, seconds) => {
      const found = withReceipt(records);
      queue.hidden.push({ bodies: found.map(({ body }) => body), seconds });
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
  work: ((): Promise<void> => Promise.resolve()) as Work,
  receivers: 1,
  concurrency: 10,
  timeoutSeconds: 30,
  shutdownSeconds: 25,
  check: (): Promise<void> => Promise.resolve(),
};

type Options = Partial<typeof DEFAULTS> & { reconcile?: () => Promise<void> };

/** A worker on fake queues in virtual time. */
export const aWorker = ({ reconcile, ...options }: Options = {}) => {
  const given = { ...DEFAULTS, ...options };
  const clock = virtualClock();
  const startedAt = clock.now();
  const queues = new Map(given.queues.map((name) => [name, fakeQueue(name, clock)]));
  const { journal, ...noted } = fakeJournal();
  const returnSooner = async (record: SQSRecord): Promise<void> => {
    for (const queue of queues.values()) await queue.hide([record], 2);
  };
  const handling = {
    handleRecord: ({ body }: SQSRecord, context: InvocationContext) => given.work(body, context),
    returnSooner,
  };
  const controller = new AbortController();
  const worker: WorkerOptions = {
    steps: {
      consuming: [
        {
          name: 'deliver',
          journal,
          queues: given.queues.map((name) => ({ name, url: `https://sqs/${name}` })),
          handling,
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
  return {
    clock,
    /** One of its queues, by default the only one. */
    queue: (name: WorkQueueName = 'delivery') => queueIn(queues, name),
    ...noted,
    seconds: () => (clock.now() - startedAt) / 1000,
    /** Runs for this many seconds of virtual time. */
    runFor: (seconds: number) => clock.run(clock.now() + seconds * 1000),
    start: () => runWorker(worker),
    stop: () => {
      controller.abort();
    },
  };
};

const queueIn = (queues: ReadonlyMap<WorkQueueName, FakeQueue>, name: WorkQueueName): FakeQueue => {
  const found = queues.get(name);
  if (found === undefined) throw new Error(`no queue ${name}`);
  return found;
};

const fakeJournal = () => {
  const facts: Fact[] = [];
  const faults: unknown[] = [];
  let flushes = 0;
  const journal: ConsumingStep['journal'] = {
    note: (fact) => facts.push(fact),
    fault: (error) => faults.push(error),
    flush: () => {
      flushes += 1;
    },
    auditLogger: new Logger(),
  };
  return { journal, facts, faults, flushes: () => flushes };
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
