import { MAX_ATTEMPTS } from '../../shared/adapters/aws/client-options.ts';
import type { Chance } from '../support/chance.ts';
import { type RelayedRequest, startRelay } from '../support/relay.ts';

/** The faults that a run injected. Times are milliseconds since the epoch. */
export const faultLog = (now = Date.now) => {
  const counts = new Map<string, number>();
  const kills: number[] = [];
  const failures = new Map<string, number[]>();
  const isBetween = (times: readonly number[], from: number, to: number): boolean =>
    times.some((time) => time >= from && time <= to);

  return {
    count: (kind: string, times = 1): void => void counts.set(kind, (counts.get(kind) ?? 0) + times),
    counts: (): Record<string, number> =>
      Object.fromEntries([...counts].sort(([one], [other]) => one.localeCompare(other))),
    /** Notes that a worker of a function was killed now. */
    killed: (): void => void kills.push(now()),
    /** Notes that a call about these messages failed now. */
    failed: (messageIds: Iterable<string>): void => {
      for (const id of messageIds) failures.set(id, [...(failures.get(id) ?? []), now()]);
    },
    wasKilledBetween: (from: number, to: number) => isBetween(kills, from, to),
    hasFailedBetween: (messageId: string, from: number, to: number) =>
      isBetween(failures.get(messageId) ?? [], from, to),
  };
};

export type FaultLog = ReturnType<typeof faultLog>;

/** The probability that a call to AWS fails. */
const PROBABILITY = 0.06;

/** The share of failing calls whose retries by the client also fail, so that the function sees the error. */
const PERSISTENT = 0.4;

const FAULTS = ['call_failed_before', 'call_cut_before', 'call_failed_after', 'call_cut_after'] as const;
type Fault = (typeof FAULTS)[number];

/**
 * Starts a proxy between the functions and AWS. A share of the calls fails with status 500 or a closed connection,
 * either before it takes effect or after it, so that only the response is lost.
 */
export const startFaultProxy = async (target: string, chance: Chance, faults: FaultLog) => {
  /** For each call that failed: whether its next retries fail. */
  const planned = new Map<string, boolean[]>();
  let isFaulty = false;

  const faultFor = (request: RelayedRequest): Fault | undefined => {
    if (!isFaulty) return undefined;
    const call = callOf(request);
    if (call === undefined) return undefined;
    const [fails = false, ...repeats] = planned.get(call) ?? planFor(chance);
    if (repeats.length === 0) planned.delete(call);
    else planned.set(call, repeats);
    return fails ? chance.pick(FAULTS) : undefined;
  };

  const relay = await startRelay(target, async (request, forward) => {
    const fault = faultFor(request);
    if (fault === undefined) return await forward();
    faults.count(fault);
    faults.failed(messagesIn(request));
    if (fault === 'call_cut_after' || fault === 'call_failed_after') await forward();
    if (fault === 'call_cut_before' || fault === 'call_cut_after') return 'cut';
    return { status: 500, headers: [], body: Buffer.alloc(0) };
  });
  return {
    ...relay,
    /** `false` forwards every call. */
    setFaulty: (value: boolean): void => {
      isFaulty = value;
    },
  };
};

/** Message ids (`messagesFor`) anywhere in a call: in a key, a job or an object name. */
const messagesIn = ({ url, body }: RelayedRequest): ReadonlySet<string> =>
  new Set(`${url} ${body.toString('latin1')}`.match(/\bm\d+\b/g));

const planFor = (chance: Chance): boolean[] => {
  if (!chance.happens(PROBABILITY)) return [];
  return chance.happens(PERSISTENT) ? Array.from({ length: MAX_ATTEMPTS }, () => true) : [true, false];
};

/** The id that the SDK sends with a call and its retries. */
const callOf = ({ headers }: RelayedRequest): string | undefined => {
  const { 'amz-sdk-invocation-id': id } = headers;
  return typeof id === 'string' ? id : undefined;
};
