import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** Something that is done once at a time. */
export type Action<Result> =
  | { state: 'idle' }
  | { state: 'running' }
  | { state: 'done'; result: Result }
  | { state: 'failed'; failure: unknown };

/** Does it, and says how far it is; it goes on when its page is left, but nothing is shown of it then. */
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
      (result) => {
        show({ state: 'done', result });
      },
      (failure: unknown) => {
        show({ state: 'failed', failure });
      },
    );
  }, []);
  const reset = useCallback(() => {
    turn.current += 1;
    setAction({ state: 'idle' });
  }, []);
  return { action, run, reset };
}
