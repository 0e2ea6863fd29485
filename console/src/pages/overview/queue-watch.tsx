import { useEffect } from 'preact/hooks';
import { useConsole } from '../../live/console-context.tsx';
import { useLive, type Live } from '../../live/use-live.ts';
import type { WindowName } from '../../statistics/read-statistics.ts';
import { figuresOf, type QueueFigures } from './queue-figures.ts';
import { readQueue } from './read-queue.ts';

/** The figures of a queue as polled; `window` is that of its statistics. */
export type WatchedQueue = Pick<Live<QueueFigures>, 'value' | 'failure'> & { window: WindowName };

/** Polls a queue and reports its figures to the parent. Renders nothing. */
export function QueueWatch({
  queue,
  window,
  onFigures,
}: {
  queue: string;
  window: WindowName;
  onFigures: (queue: string, watched: WatchedQueue) => void;
}): null {
  const { api } = useConsole();
  const { value, failure } = useLive(`figures/${queue}/${window}`, async (signal) =>
    figuresOf(await readQueue(api, queue, { window, now: Date.now(), signal })),
  );
  useEffect(() => {
    onFigures(queue, { value, failure, window });
  }, [queue, window, value, failure, onFigures]);
  return null;
}
