import type { VirtualClock } from '../../test/support/in-memory/virtual-clock.ts';

/** A message as a function receives it, once. */
export type Receipt<T> = { id: string; value: T; receiveCount: number };

export type FedQueue<T> = {
  send: (value: T, delaySeconds?: number) => void;
  /** One for every invocation that has ended, in milliseconds. */
  readonly invocations: readonly { startedAt: number; endedAt: number; records: number }[];
  /** Messages that failed ten times. */
  readonly deadLetters: number;
};

type QueueOptions<T> = {
  name: string;
  time: VirtualClock;
  /** The mapping's `maxConcurrency`. */
  concurrency: number;
  /** Called for an invocation in an environment, numbered from 0; what it gives is called for each message, side by side. */
  start: (environment: number) => (receipt: Receipt<T>) => Promise<void>;
};

/** infra/constructs/functions/node-function.ts. */
export const BATCH = 10;

const MOST_RECEIVES = 10;

/** Six times the function's timeout (shared/domain/delivery/lease.ts). */
const VISIBILITY_MS = 180_000;

/**
 * AWS Lambda developer guide, "Configuring scaling behavior for SQS event source mappings": five batches at first, and up to 300
 * more a minute while messages wait.
 */
const FIRST_CONCURRENCY = 5;
const ANOTHER_AFTER_MS = 60_000 / 300;

/** An SQS queue with its event source mapping: as many environments as are allowed, each with up to ten messages at a time. */
export const fedQueue = <T>({ name, time, concurrency, start }: QueueOptions<T>): FedQueue<T> => {
  const waiting: Receipt<T>[] = [];
  const free = Array.from({ length: concurrency }, (_, index) => concurrency - 1 - index);
  const invocations: { startedAt: number; endedAt: number; records: number }[] = [];
  let allowed = Math.min(FIRST_CONCURRENCY, concurrency);
  let isGrowing = false;
  let sent = 0;
  let deadLetters = 0;

  const busy = (): number => concurrency - free.length;

  const handOut = (): void => {
    while (waiting.length > 0 && busy() < allowed) {
      const environment = free.pop();
      if (environment === undefined) return;
      void invoke(waiting.splice(0, BATCH), environment);
    }
    if (waiting.length > 0) growLater();
  };

  const growLater = (): void => {
    if (isGrowing || allowed >= concurrency) return;
    isGrowing = true;
    time.at(time.now() + ANOTHER_AFTER_MS, () => {
      isGrowing = false;
      allowed += 1;
      handOut();
    });
  };

  const invoke = async (batch: readonly Receipt<T>[], environment: number): Promise<void> => {
    const startedAt = time.now();
    const handle = start(environment);
    const results = await Promise.allSettled(batch.map(handle));
    for (const [index, receipt] of batch.entries())
      if (results[index]?.status === 'rejected') comeAgain(receipt);
    invocations.push({ startedAt, endedAt: time.now(), records: batch.length });
    free.push(environment);
    // Pollers that find nothing are taken away again.
    if (waiting.length === 0 && busy() === 0) allowed = Math.min(FIRST_CONCURRENCY, concurrency);
    handOut();
  };

  const comeAgain = (receipt: Receipt<T>): void => {
    if (receipt.receiveCount >= MOST_RECEIVES) deadLetters += 1;
    else appear({ ...receipt, receiveCount: receipt.receiveCount + 1 }, VISIBILITY_MS);
  };

  const appear = (receipt: Receipt<T>, delayMs: number): void => {
    time.at(time.now() + delayMs, () => {
      waiting.push(receipt);
      // Those that come at the same time are received together.
      if (waiting.length === 1) time.at(time.now(), handOut);
    });
  };

  return {
    invocations,
    get deadLetters() {
      return deadLetters;
    },
    send: (value, delaySeconds = 0) => {
      sent += 1;
      appear({ id: `${name}-${sent}`, value, receiveCount: 1 }, delaySeconds * 1000);
    },
  };
};
