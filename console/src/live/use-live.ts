import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type {
  Given,
  GivenList,
  Listed,
  ListedPage,
  Operation,
  Route,
} from '../../../api-client/api-client.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { pollInterval, type PollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { isTransient } from '../api/failure-words.ts';
import { type Freshness, usePage } from './page-context.tsx';

/** A value that is read. Both are undefined at first. */
export type Loading<Value> = { value: Value | undefined; failure: unknown };

/** A polled value. After a failure `value` keeps what was read last. */
export type Live<Value> = Loading<Value> & {
  /** Polls now, and restarts at the shortest interval. Call it after a change. */
  refresh: () => void;
};

const NOTHING = { value: undefined, failure: undefined };

type LiveOptions = {
  /** Goes on while the value does not exist. */
  untilFound?: boolean;
  /** Of what hardly changes: loads again only when the page is shown again. */
  once?: boolean;
  /** Another version is loaded at once; until then the value stays. */
  version?: number | undefined;
};

/** The answer of an operation of the API, polled. */
export function useLiveCall<Name extends Route, Answer>(
  asked: Operation<Name, Answer>,
  given: Given<Name>,
  options?: LiveOptions,
): Live<Answer> {
  const { api } = usePage();
  const key = JSON.stringify([asked.route, given]);
  return useLive(key, (signal) => api.call(asked, { signal, ...given }), options);
}

/** The first `most` items of a listing of the API, polled. The items stay while more of them are loaded. */
export function useLiveItems<Name extends Route, Item>(
  asked: Operation<Name, ListedPage<Item>>,
  given: GivenList<Name>,
  options?: Omit<LiveOptions, 'version'>,
): Live<Listed<Item>> {
  const { api } = usePage();
  const { most, ...listed } = given;
  const key = JSON.stringify([asked.route, listed]);
  return useLive(key, (signal) => api.items(asked, { signal, ...given }), { ...options, version: most });
}

/**
 * Loads a value and reloads it at the poll interval (docs/retry-policy.md#the-poll-interval): soon after a change, less
 * often without one, and not while the page is hidden. `key` identifies the value: another key starts afresh.
 */
export function useLive<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  { untilFound = false, once = false, version }: LiveOptions = {},
): Live<Value> {
  const { freshness, polling } = usePage();
  const [shown, setShown] = useState<Loading<Value> & { key: string }>();
  const latest = useRef(load);
  latest.current = load;
  const wake = useRef<() => void>(() => undefined);

  useEffect(() => {
    let known: string | undefined;
    const poll = {};
    const note = (news: Partial<Freshness>): void => {
      const before = freshness.get(poll) ?? { readAt: undefined, failed: false, dueAt: undefined };
      freshness.set(poll, { ...before, ...news });
    };
    const poller = startPoller({
      interval: pollInterval(polling),
      once,
      poll: async (signal) => {
        const value = await latest.current(signal);
        const before = known;
        known = toComparable(value);
        if (!signal.aborted) {
          setShown({ key, value, failure: undefined });
          note({ readAt: Date.now(), failed: false, dueAt: undefined });
        }
        return known !== before;
      },
      onFailure: (failure) => {
        setShown((before) => ({ key, value: before?.key === key ? before.value : undefined, failure }));
        note({ failed: true, dueAt: undefined });
      },
      onSchedule: (dueAt) => note({ dueAt }),
      isTransient: (failure) => isTransient(failure) || (untilFound && isNotFound(failure)),
      isHidden: () => document.hidden,
    });
    const onVisible = (): void => {
      if (!document.hidden) poller.wake();
    };
    document.addEventListener('visibilitychange', onVisible);
    wake.current = poller.wake;
    return () => {
      poller.stop();
      freshness.delete(poll);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, freshness, polling, untilFound, once]);

  const refresh = useCallback(() => wake.current(), []);
  const loaded = useRef(version);
  useEffect(() => {
    if (loaded.current !== version) refresh();
    loaded.current = version;
  }, [version, refresh]);
  const { value, failure } = shown?.key === key ? shown : NOTHING;
  return { value, failure, refresh };
}

/** A value as text, without ages: they change with each poll, which would then never become less frequent. */
export function toComparable(value: unknown): string | undefined {
  return JSON.stringify(value, (name, member: unknown) => (name === 'age' ? undefined : member));
}

type Poller = {
  /** Polls now, again if a poll is under way, and restarts at the shortest interval. */
  wake: () => void;
  stop: () => void;
};

type PollerOptions = {
  interval: PollInterval;
  /** After a success only `wake` polls. */
  once: boolean;
  /** Resolves to whether anything changed. */
  poll: (signal: AbortSignal) => Promise<boolean>;
  onFailure: (failure: unknown) => void;
  /** Whether polling goes on after this failure. */
  isTransient: (failure: unknown) => boolean;
  /** Polling pauses while this holds; `wake` resumes it. */
  isHidden: () => boolean;
  /** Called with the time of the next poll, in milliseconds since the epoch. */
  onSchedule: (dueAt: number) => void;
};

/** Polls at the poll interval, one request at a time, until it is stopped. */
export function startPoller({
  interval: start,
  once,
  poll,
  onFailure,
  isTransient,
  isHidden,
  onSchedule,
}: PollerOptions): Poller {
  const stopped = new AbortController();
  const { signal } = stopped;
  let interval = start;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let polling = false;
  /** The poll under way may have read what was there before a change. */
  let isOutdated = false;

  const schedule = (): void => {
    timer = setTimeout(run, interval.wait * 1000);
    onSchedule(Date.now() + interval.wait * 1000);
  };
  const succeed = (isNew: boolean): void => {
    interval = isNew ? interval.afterMessage() : interval.afterEmpty();
    if (!once) schedule();
  };
  const fail = (failure: unknown): void => {
    onFailure(failure);
    interval = interval.afterEmpty();
    if (isTransient(failure)) schedule();
  };
  const run = (): void => {
    if (polling || signal.aborted || isHidden()) return;
    polling = true;
    isOutdated = false;
    const settled =
      <Outcome>(handle: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        polling = false;
        if (signal.aborted) return;
        handle(outcome);
        if (isOutdated) wake();
      };
    poll(signal).then(settled(succeed), settled(fail));
  };
  const wake = (): void => {
    clearTimeout(timer);
    interval = start;
    isOutdated = polling;
    run();
  };
  run();
  return {
    wake,
    stop: () => {
      stopped.abort();
      clearTimeout(timer);
    },
  };
}
