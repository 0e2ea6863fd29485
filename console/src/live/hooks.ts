import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Loading } from './use-live.ts';

/** The current time in milliseconds since the epoch, updated every second. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The current width of an element in CSS pixels; 0 before it is mounted. */
export function useWidth<Shown extends HTMLElement>(): { ref: RefObject<Shown | null>; width: number } {
  const ref = useRef<Shown>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

/** The part of the address behind the `#`, with it, updated when it changes. */
export function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    // An effect runs after the paint: a change between the two has no listener.
    follow();
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return hash;
}

/** The state of work that the user starts. */
export type Action<Result> =
  | { state: 'idle' }
  | { state: 'running' }
  | { state: 'done'; result: Result }
  | { state: 'failed'; failure: unknown };

/** The state of work that loads a value, in the form of a polled one. */
export function loadedBy<Result>(action: Action<Result>): Loading<Result> {
  return {
    value: action.state === 'done' ? action.result : undefined,
    failure: action.state === 'failed' ? action.failure : undefined,
  };
}

/** Runs `work` and reports its state. Work continues after the component unmounts, but its result is discarded. */
export function useAction<Given extends unknown[], Result>(
  work: (...given: Given) => Promise<Result>,
): { action: Action<Result>; run: (...given: Given) => void; reset: () => void } {
  const [action, setAction] = useState<Action<Result>>({ state: 'idle' });
  const latest = useRef(work);
  latest.current = work;
  const turn = useRef(0);
  useEffect(
    () => () => {
      turn.current += 1;
    },
    [],
  );
  const run = useCallback((...given: Given) => {
    turn.current += 1;
    const mine = turn.current;
    const show = (next: Action<Result>): void => {
      if (turn.current === mine) setAction(next);
    };
    show({ state: 'running' });
    latest.current(...given).then(
      (result) => show({ state: 'done', result }),
      (failure: unknown) => show({ state: 'failed', failure }),
    );
  }, []);
  const reset = useCallback(() => {
    turn.current += 1;
    setAction({ state: 'idle' });
  }, []);
  return { action, run, reset };
}

/** Loads a value once. */
export function useLoaded<Result>(load: () => Promise<Result>): Loading<Result> {
  const { action, run } = useAction(load);
  useEffect(run, [run]);
  return loadedBy(action);
}
