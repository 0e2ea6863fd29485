import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { listQueues, putQueue } from '../../../../cli/api/queues.ts';
import { firstOf } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Empty, Failure } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/work-button.tsx';
import { hrefTo } from '../../route.ts';
import { nearNames } from './near-names.ts';

const MOST_NAMES = 1_000;

/** Shown in place of a page of a queue that does not exist: similar names, and a button that creates the queue. */
export function MissingQueue({ queue, onCreated }: { queue: string; onCreated: () => void }): JSX.Element {
  const { api } = useConsole();
  const near = useAction(async () => {
    const { items } = await firstOf(listQueues(api, MOST_NAMES), MOST_NAMES);
    return nearNames(
      queue,
      items.map(({ name }) => name),
    );
  });
  useEffect(near.run, [near.run]);
  const { action, run } = useAction(async () => {
    await putQueue(api, queue, '{}');
    onCreated();
  });
  const names = near.action.state === 'done' ? near.action.result : [];
  return (
    <Empty title={`There is no queue ${queue}.`}>
      {names.length === 0 ? null : (
        <p>
          Did you mean{' '}
          {names.map((name, index) => (
            <>
              {index === 0 ? '' : ' or '}
              <a href={hrefTo({ page: 'queue', queue: name })}>{name}</a>
            </>
          ))}
          ?
        </p>
      )}
      <p>Messages that arrive for this name are dead letters (unknown_queue) until the queue exists.</p>
      <WorkButton action={action} onClick={run}>
        Create queue {queue}
      </WorkButton>
      {action.state === 'failed' ? <Failure of={action.failure} /> : null}
    </Empty>
  );
}
