import type { JSX } from 'preact';
import type { Listed } from '../../../../api-client/api-client.ts';
import { deleteQueue } from '../../../../api-client/operations.ts';
import { counted } from '../../../../api-client/words.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { hrefTo } from '../../route.ts';

/** The button that deletes a queue. For a queue with subscriptions the user has to type its name. */
export function DeleteQueue({
  queue,
  subscriptions: { items, more },
}: {
  queue: string;
  subscriptions: Listed<SubscriptionView>;
}): JSX.Element {
  const { api } = useConsole();
  const count = more
    ? `more than ${items.length} subscriptions`
    : counted(items.length, 'subscription', 'subscriptions');
  return (
    <ConfirmButton
      text="Delete queue"
      verb="Delete the queue"
      typed={items.length > 0 ? queue : undefined}
      work={async () => {
        await api.call(deleteQueue, { path: { queue } });
        location.hash = hrefTo({ page: 'overview' });
      }}
    >
      {items.length === 0 ? (
        <p>The queue {queue} has no subscriptions.</p>
      ) : (
        <p>
          The queue {queue} has <strong>{count}</strong>. They are deleted with it, and their open deliveries
          are cancelled.
        </p>
      )}
      <p>Messages that still arrive for it become dead letters.</p>
    </ConfirmButton>
  );
}
