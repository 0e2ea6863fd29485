import type { JSX } from 'preact';
import { Empty } from '../../parts/notice.tsx';
import { CreateQueue } from '../queue/create-queue.tsx';

/** Shown for a deployment without queues: creates the first one. */
export function NoQueues({ onCreated }: { onCreated: () => void }): JSX.Element {
  return (
    <Empty title="No queues yet">
      <p>
        A queue is a named channel. Producers publish messages to it, and its subscribers get each message as
        an HTTP POST.
      </p>
      <CreateQueue label="Name of the first queue" onCreated={onCreated} />
    </Empty>
  );
}
