import type { JSX } from 'preact';
import { useConsole } from '../../live/console-context.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Empty } from '../../parts/notice.tsx';

export function NoMessages({ queue }: { queue: string }): JSX.Element {
  const { info } = useConsole();
  const command = `${info?.command ?? 'posthaste'} publish ${queue} --data '{"test": true}'`;
  return (
    <Empty title="No messages in the last 24 hours">
      <p>
        Producers send messages to the ingress queue. To see one arrive, publish a test message on the queue’s
        page, or run
      </p>
      <p class="command">
        <code>{command}</code> <CopyButton text={command} what="the command" />
      </p>
    </Empty>
  );
}
