import { useEffect } from 'preact/hooks';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { readQueue } from './read-queue.ts';
import { standingOf, type QueueStanding } from './queue-standing.ts';

/** Polls a queue and reports its figures to the parent. Renders nothing. */
export function QueueWatch({
  queue,
  onStanding,
}: {
  queue: string;
  onStanding: (queue: string, standing: QueueStanding) => void;
}): null {
  const { api } = useConsole();
  const { value } = useLive(`standing/${queue}`, async (signal) =>
    standingOf(await readQueue(api, queue, { now: Date.now(), signal })),
  );
  useEffect(() => {
    if (value !== undefined) onStanding(queue, value);
  }, [queue, value, onStanding]);
  return null;
}
