import { Readable } from 'node:stream';
import * as z from 'zod';
import { type ApiClient, operation } from '../../../api-client/api-client.ts';
import { ApiRefusal, orElse } from '../../../api-client/refusal.ts';
import type { PauseView } from '../../../api-client/words.ts';
import { Problem } from '../../../local/install/problem.mjs';
import type { PollIntervalOptions } from '../../../shared/domain/retry/poll-interval.ts';
import { poll } from '../../../shared/steps/poll.ts';
import { pausedViewSchema } from '../../../shared/wire/views/subscription.ts';
import { NoAnswerProblem } from '../../api/api-access.ts';
import { boundedBody } from '../../bounded-body.ts';
import { failureText, fetchFailure } from '../../failure-report.ts';
import { printable } from '../../output/text.ts';
import type { Sleep } from '../../terminal.ts';

const nothing = z.unknown().transform(() => undefined);
const received = z.object({
  deliveries: z.array(
    z.object({
      receipt: z.string(),
      messageId: z.string(),
      attempt: z.number(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
    }),
  ),
  paused: pausedViewSchema.exactOptional(),
});

/** A delivery that was received by pull. `headers` and the UTF-8 bytes of `body`: of the signed webhook request. */
export type ReceivedDelivery = z.output<typeof received>['deliveries'][number];

/** The operations of a pull subscription, for an operator of the deployment. An answer that is repeated counts once. */
export const operatedPull = {
  receive: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/receive', received),
  ack: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/ack', nothing, { repeatable: true }),
  nack: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/nack', nothing, { repeatable: true }),
};

/** The same, for a holder of the subscription's token. */
export const pullByToken = {
  receive: operation('POST /v2/pull/{queue}/{subscription}/receive', received),
  ack: operation('POST /v2/pull/{queue}/{subscription}/ack', nothing, { repeatable: true }),
  nack: operation('POST /v2/pull/{queue}/{subscription}/nack', nothing, { repeatable: true }),
};

export type PullRoutes = ReturnType<typeof pullRoutes>;

/** The routes of one pull subscription. All methods throw as `call`. */
export function pullRoutes(
  api: ApiClient,
  { receive, ack, nack }: typeof operatedPull | typeof pullByToken,
  path: { queue: string; subscription: string },
) {
  return {
    /** `signal` ends the request: what it leases is then lost until the end of the lease. */
    receive: async ({ max, leaseSeconds, signal }: Leasing): Promise<ReceivedDelivery[]> => {
      const body = { max, lease_seconds: leaseSeconds };
      const { deliveries, paused } = await api.call(receive, { path, body, signal });
      if (paused !== undefined) throw new PausedProblem(paused.by);
      return deliveries;
    },
    ack: (receipt: string): Promise<void> => api.call(ack, { path, body: { receipt } }),
    /** `error`: of at most 256 characters, none of them a control character. */
    nack: (receipt: string, error: string): Promise<void> =>
      api.call(nack, { path, body: { receipt, error } }),
  };
}

/** Nothing is received until the pause ends. */
class PausedProblem extends Problem {
  constructor(by: PauseView['by']) {
    super(`The ${by} is paused.`);
  }
}

type Leasing = { max: number; leaseSeconds: number; signal: AbortSignal };

/** A delivery that was posted to the target. */
export type Forwarded = {
  /** When it was posted: RFC 3339. */
  at: string;
  messageId: string;
  attempt: number;
  /** Of the target's answer; absent without one. */
  status?: number;
  /** Why there is no answer. */
  error?: string;
  durationMs: number;
  outcome: 'acked' | 'nacked';
  /** Why the deployment does not know the outcome. The delivery is received again. */
  notRecorded?: string | undefined;
  /** Of the poller, in seconds. */
  interval: number;
};

export type ForwardOptions = {
  pull: PullRoutes;
  post: (delivery: ReceivedDelivery) => Promise<TargetResult>;
  /** `concurrency`: deliveries at the same time. `interval`: of the poller, in seconds. */
  limits: { concurrency: number; leaseSeconds: number; interval: PollIntervalOptions };
  /** Ends it, after what runs. */
  signal: AbortSignal;
  sleep: Sleep;
  trace?: ((line: string) => void) | undefined;
  onForwarded: (forwarded: Forwarded) => void;
  /** Called after each receive: with the reason if it failed for now. */
  onReceived: (failure?: Error) => void;
};

/** Milliseconds for a receive that is under way when the command ends: what it leased is still forwarded. */
const LAST_RECEIVE_MS = 3_000;

/** Of an ack or nack that the API does not answer, in seconds. */
const ANSWER_INTERVAL = { floor: 1, ceiling: 10 };

/** Characters that the API takes. */
const LONGEST_REASON = 256;

/**
 * Receives, posts to the target and answers until the signal. It receives only what it can post at once. While the target
 * does not answer, it receives one delivery at a time, each after a longer pause.
 * @throws ApiRefusal, CredentialsProblem and UnknownAnswer, after what runs has ended; not if the API does not respond, nor
 *   while the subscription is disabled or paused
 */
export async function forwardDeliveries(options: ForwardOptions): Promise<void> {
  const { limits, signal, sleep, trace } = options;
  const running = new Set<Promise<void>>();
  const ending = endOfReceives(signal);
  /** Whether the latest request to the target had no answer. */
  let isDown = false;
  /** The poller's, in seconds. */
  let current = 0;

  const post = async (delivery: ReceivedDelivery): Promise<TargetResult> => {
    const result = await options.post(delivery);
    isDown = 'error' in result;
    return result;
  };

  const start = (delivery: ReceivedDelivery, leaseEndsAt: number): void => {
    const work = forwardOne({ ...options, post }, delivery, leaseEndsAt).then((forwarded) => {
      running.delete(work);
      options.onForwarded({ ...forwarded, interval: current });
    });
    running.add(work);
  };

  /** Waits until there is room for deliveries, and returns for how many. One if the target is down, after all others. */
  const awaitRoom = async (): Promise<number> => {
    if (running.size >= limits.concurrency) await Promise.race(running);
    if (!isDown) return limits.concurrency - running.size;
    await Promise.all(running);
    return 1;
  };

  const look = async (interval: number): Promise<'message' | 'empty' | 'failed' | 'done'> => {
    current = interval;
    const room = await awaitRoom();
    if (signal.aborted) return 'done';
    const wasDown = isDown;
    const leaseEndsAt = performance.now() + limits.leaseSeconds * 1000;
    const received = await receive(options, room, ending);
    if (received === undefined) return 'failed';
    for (const delivery of received) start(delivery, leaseEndsAt);
    if (wasDown) await Promise.all(running);
    if (received.length === 0) return 'empty';
    return wasDown && isDown ? 'failed' : 'message';
  };

  const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, signal);
  try {
    const polling = poll({ interval: limits.interval, sleep: pause, trace }, look);
    await polling.catch(orElse(() => signal.aborted, undefined));
  } finally {
    await Promise.all(running);
  }
}

/** Aborted when a receive that is under way at the end has had its time. */
function endOfReceives(signal: AbortSignal): AbortSignal {
  const ending = new AbortController();
  signal.addEventListener('abort', () => {
    setTimeout(() => {
      ending.abort();
    }, LAST_RECEIVE_MS).unref();
  });
  return ending.signal;
}

/** Undefined: the API did not respond, or the subscription receives nothing now. */
async function receive(
  { pull, limits: { leaseSeconds }, onReceived }: ForwardOptions,
  max: number,
  signal: AbortSignal,
): Promise<ReceivedDelivery[] | undefined> {
  try {
    const received = await pull.receive({ max, leaseSeconds, signal });
    onReceived();
    return received;
  } catch (error) {
    if (!(isOutage(error) || isInactive(error)) || signal.aborted) throw error;
    onReceived(error);
    return undefined;
  }
}

/** Whether the network or the deployment fails, rather than the request. */
function isOutage(error: unknown): error is Error {
  if (error instanceof ApiRefusal) return error.status === 429 || error.status >= 500;
  return error instanceof NoAnswerProblem;
}

/** Whether the subscription is paused, disabled or not confirmed (docs/api.md#errors). */
function isInactive(error: unknown): error is Error {
  if (error instanceof ApiRefusal) return error.code === 'inactive';
  return error instanceof PausedProblem;
}

async function forwardOne(
  options: ForwardOptions,
  delivery: ReceivedDelivery,
  leaseEndsAt: number,
): Promise<Omit<Forwarded, 'interval'>> {
  const { messageId, attempt } = delivery;
  const at = new Date().toISOString();
  const result = await options.post(delivery);
  const isAcked = 'status' in result && result.status >= 200 && result.status < 300;
  const notRecorded = await answer(options, leaseEndsAt, () =>
    isAcked ? options.pull.ack(delivery.receipt) : options.pull.nack(delivery.receipt, formatReason(result)),
  );
  return { at, messageId, attempt, ...result, outcome: isAcked ? 'acked' : 'nacked', notRecorded };
}

function formatReason(result: TargetResult): string {
  const text = 'status' in result ? `status ${result.status}` : printable(result.error);
  return text.slice(0, LONGEST_REASON).toWellFormed();
}

/** Sends an ack or nack until it is recorded, its lease ends or the command does. Returns why it is not recorded. */
async function answer(
  { signal, sleep }: ForwardOptions,
  leaseEndsAt: number,
  send: () => Promise<void>,
): Promise<string | undefined> {
  let failure: unknown;
  // At Ctrl-C, one more try follows at once.
  const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, signal).catch(() => undefined);
  await poll({ interval: ANSWER_INTERVAL, sleep: pause }, async () => {
    const isLast = signal.aborted;
    try {
      await send();
      failure = undefined;
      return 'done';
    } catch (error) {
      failure = error;
      return isLast || !isOutage(error) || performance.now() >= leaseEndsAt ? 'done' : 'failed';
    }
  });
  return failure === undefined ? undefined : failureText(failure);
}

/** A status, or why there is none. */
export type TargetResult = { durationMs: number } & ({ status: number } | { error: string });

/** Bytes of an answer that are read, so that the connection can be used again. */
const MAX_READ = 64 * 1024;

/** Makes a webhook request, byte for byte. Redirects are not followed. `timeoutSeconds`: for the whole exchange. */
export async function postToTarget(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  timeoutSeconds: number,
): Promise<TargetResult> {
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: Buffer.from(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const { status } = response;
    // The status decides, also if the body breaks off.
    if (response.body !== null)
      await boundedBody(Readable.fromWeb(response.body), MAX_READ).catch(() => undefined);
    return { status, durationMs: durationMs() };
  } catch (cause) {
    return { error: formatFailure(cause, timeoutSeconds), durationMs: durationMs() };
  }
}

function formatFailure(cause: unknown, timeoutSeconds: number): string {
  if (cause instanceof DOMException && cause.name === 'TimeoutError')
    return `no answer within ${timeoutSeconds} s`;
  return failureText(fetchFailure(cause));
}
