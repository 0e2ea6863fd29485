import type { JSX } from 'preact';
import { CommandText } from '../../parts/source-text.tsx';
import { Empty } from '../../parts/notice.tsx';

export function NoMessages({ queue }: { queue: string }): JSX.Element {
  return (
    <Empty title="No messages in the last 24 hours">
      <p>
        Producers send messages to the ingress queue. To see one arrive, publish a test message on the queue’s
        page, or run
      </p>
      <CommandText args={`publish ${queue} --data '{"test": true}'`} />
    </Empty>
  );
}
