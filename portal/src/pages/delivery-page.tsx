import type { DeliveryAddress } from '../../../api-client/deliveries.ts';
import { DeliveryView } from '../../../console/src/delivery/delivery-view.tsx';
import { hrefTo } from '../../../console/src/route.ts';
import { usePortal } from '../portal-context.tsx';

/** One delivery with its attempts, its request and the responses. */
export function DeliveryPage({ address }: { address: DeliveryAddress }) {
  const { can, response_bodies: showsBodies } = usePortal();
  const { queue, subscriptionId } = address;
  const href = hrefTo({ page: 'subscription', queue, subscription: subscriptionId });
  return (
    <DeliveryView
      address={address}
      crumbs={[
        { text: 'Endpoints', href: hrefTo({ page: 'overview' }) },
        { text: 'Endpoint', href },
      ]}
      canRetry={can('retry')}
      isForOperator={false}
    >
      {showsBodies ? null : <p class="muted">The bodies of responses are not shown.</p>}
    </DeliveryView>
  );
}
