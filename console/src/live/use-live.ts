import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { mayPass } from '../api/failure-words.ts';
import { useConsole } from './console-context.tsx';
import { startPoller } from './poller.ts';

/** What is shown of something that changes. What was read last stays when a look fails. */
export type Live<Value> = {
  value: Value | undefined;
  failure: unknown;
  /** Looks at once, and often again from then on: for after something was done. */
  refresh: () => void;
};

/** Until the command has said how often. */
const UNTIL_TOLD = { floorSeconds: 1, ceilingSeconds: 10, exponent: 2 };

const NOTHING = { value: undefined, failure: undefined };

/**
 * Loads, and loads again by the poll interval (docs/retry-policy.md#the-poll-interval): soon after something has changed, and less and less often
 * while nothing does. Not while the page is out of sight. `key` says what is loaded: another one begins anew.
 */
export function useLive<Value>(key: string, load: (signal: AbortSignal) => Promise<Value>): Live<Value> {
  const { info } = useConsole();
  const [shown, setShown] = useState<{ key: string; value: Value | undefined; failure: unknown }>();
  const latest = useRef(load);
  latest.current = load;
  const wake = useRef<() => void>(() => undefined);
  const { floorSeconds: floor, ceilingSeconds: ceiling, exponent } = info?.pollInterval ?? UNTIL_TOLD;

  useEffect(() => {
    let known: string | undefined;
    const poller = startPoller({
      interval: pollInterval({ floor, ceiling, exponent }),
      look: async (signal) => {
        const value = await latest.current(signal);
        const before = known;
        known = JSON.stringify(value);
        if (!signal.aborted) setShown({ key, value, failure: undefined });
        return known !== before;
      },
      failed: (failure) => {
        setShown((before) => ({ key, value: before?.key === key ? before.value : undefined, failure }));
      },
      mayPass,
      isHidden: () => document.hidden,
    });
    const onVisible = (): void => {
      if (!document.hidden) poller.wake();
    };
    document.addEventListener('visibilitychange', onVisible);
    wake.current = poller.wake;
    return () => {
      poller.stop();
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [key, floor, ceiling, exponent]);

  const refresh = useCallback(() => {
    wake.current();
  }, []);
  const { value, failure } = shown?.key === key ? shown : NOTHING;
  return { value, failure, refresh };
}
