import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { isTransient } from '../api/failure-words.ts';
import { useConsole } from './console-context.tsx';
import type { Freshness } from './freshness.ts';
import { startPoller } from './poller.ts';

/** A polled value. After a failure `value` keeps what was read last. */
export type Live<Value> = {
  value: Value | undefined;
  failure: unknown;
  /** Polls now, and restarts at the shortest interval. Call it after a change. */
  refresh: () => void;
};

/** Used until the console info has loaded. */
const DEFAULT_POLL_INTERVAL = { floorSeconds: 1, ceilingSeconds: 10, exponent: 2 };

const NOTHING = { value: undefined, failure: undefined };

/**
 * Loads a value and reloads it at the poll interval (docs/retry-policy.md#the-poll-interval): soon after a change, less
 * often without one, and not while the page is hidden. `key` identifies the value: another key starts afresh.
 * `untilFound`: goes on while the value does not exist.
 */
export function useLive<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  { untilFound = false }: { untilFound?: boolean } = {},
): Live<Value> {
  const { info, freshness } = useConsole();
  const [shown, setShown] = useState<{ key: string; value: Value | undefined; failure: unknown }>();
  const latest = useRef(load);
  latest.current = load;
  const wake = useRef<() => void>(() => undefined);
  const {
    floorSeconds: floor,
    ceilingSeconds: ceiling,
    exponent,
  } = info?.pollInterval ?? DEFAULT_POLL_INTERVAL;

  useEffect(() => {
    let known: string | undefined;
    const poll = {};
    const note = (news: Partial<Freshness>): void => {
      const before = freshness.get(poll) ?? { readAt: undefined, failed: false, dueAt: undefined };
      freshness.set(poll, { ...before, ...news });
    };
    const poller = startPoller({
      interval: pollInterval({ floor, ceiling, exponent }),
      poll: async (signal) => {
        const value = await latest.current(signal);
        const before = known;
        known = JSON.stringify(value);
        if (!signal.aborted) {
          setShown({ key, value, failure: undefined });
          note({ readAt: Date.now(), failed: false });
        }
        return known !== before;
      },
      onFailure: (failure) => {
        setShown((before) => ({ key, value: before?.key === key ? before.value : undefined, failure }));
        note({ failed: true, dueAt: undefined });
      },
      onSchedule: (dueAt) => {
        note({ dueAt });
      },
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
  }, [key, floor, ceiling, exponent, freshness, untilFound]);

  const refresh = useCallback(() => {
    wake.current();
  }, []);
  const { value, failure } = shown?.key === key ? shown : NOTHING;
  return { value, failure, refresh };
}
