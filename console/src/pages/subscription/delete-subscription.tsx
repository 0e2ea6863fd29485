import type { JSX } from 'preact';
import { unsubscribe } from '../../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { hrefTo } from '../../route.ts';

/** The button that deletes a subscription, after a question. */
export function DeleteSubscription({ subscription }: { subscription: SubscriptionView }): JSX.Element {
  const { api } = useConsole();
  const { source: queue, id } = subscription;
  return (
    <ConfirmButton
      text="Delete"
      verb="Delete the subscription"
      work={async () => {
        await api.call(unsubscribe, { path: { queue, subscription: id } });
        location.hash = hrefTo({ page: 'queue', queue });
      }}
    >
      <p>
        <span class="url">{subscriberText(subscription)}</span> gets no more requests. Its open deliveries are
        cancelled, its signing secret and its options are lost.
      </p>
      <p>To stop the requests for a while only, disable it.</p>
    </ConfirmButton>
  );
}
