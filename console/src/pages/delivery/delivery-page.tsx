import type { DeliveryAddress } from '../../../../api-client/deliveries.ts';
import { getSubscription } from '../../../../api-client/operations.ts';
import { formatLabel } from '../../../../api-client/subscription-labels.ts';
import { DeliveryView } from '../../delivery/delivery-view.tsx';
import { useLiveCall } from '../../live/use-live.ts';
import { crumbTo } from '../../parts/page-heading.tsx';
import { SubscriptionState } from '../../parts/subscription-text.tsx';
import { hrefTo } from '../../route.ts';

export function DeliveryPage({ address }: { address: DeliveryAddress }) {
  const { queue, messageId } = address;
  const message = hrefTo({ page: 'message', queue, message: messageId });
  return (
    <DeliveryView address={address} crumbs={[crumbTo(queue), { text: 'Message', href: message }]}>
      <Receiver address={address} />
    </DeliveryView>
  );
}

function Receiver({ address: { queue, subscriptionId } }: { address: DeliveryAddress }) {
  // Without a value where the subscription is deleted: its id is then all that is known.
  const { value } = useLiveCall(getSubscription, { path: { queue, subscription: subscriptionId } });
  const href = hrefTo({ page: 'subscription', queue, subscription: subscriptionId });
  if (value === undefined)
    return (
      <p>
        to the subscription{' '}
        <a class="id" href={href}>
          {subscriptionId}
        </a>
      </p>
    );
  return (
    <p>
      to{' '}
      <a class="url strong" href={href}>
        {formatLabel(value)}
      </a>{' '}
      <span class="muted id">{subscriptionId}</span> <SubscriptionState of={value} />
    </p>
  );
}
