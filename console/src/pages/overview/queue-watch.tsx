import { useEffect } from 'preact/hooks';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { readQueue } from './read-queue.ts';
import { figuresOf, type QueueFigures } from './queue-figures.ts';

/** Polls a queue and reports its figures to the parent. Renders nothing. */
export function QueueWatch({
  queue,
  onFigures,
}: {
  queue: string;
  onFigures: (queue: string, figures: QueueFigures) => void;
}): null {
  const { api } = useConsole();
  const { value } = useLive(`figures/${queue}`, async (signal) =>
    figuresOf(await readQueue(api, queue, { now: Date.now(), signal })),
  );
  useEffect(() => {
    if (value !== undefined) onFigures(queue, value);
  }, [queue, value, onFigures]);
  return null;
}
