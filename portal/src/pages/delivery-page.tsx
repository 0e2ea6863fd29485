import { type DeliveryAddress, deliveryPath } from '../../../api-client/deliveries.ts';
import { getDelivery, retryDelivery } from '../../../api-client/operations.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import { DeliveryReport } from '../../../console/src/delivery/delivery-report.tsx';
import { RequestSection } from '../../../console/src/delivery/request-section.tsx';
import { useAction } from '../../../console/src/live/hooks.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLiveCall } from '../../../console/src/live/use-live.ts';
import { WorkButton } from '../../../console/src/parts/form.tsx';
import { ActionFailure, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading } from '../../../console/src/parts/page-heading.tsx';
import { hrefTo } from '../../../console/src/route.ts';
import { usePortal } from '../portal-context.tsx';

/** One delivery with its attempts, its request and the responses. */
export function DeliveryPage({ address }: { address: DeliveryAddress }) {
  const { api } = usePage();
  const { can, response_bodies: showsBodies } = usePortal();
  const { queue, messageId, subscriptionId } = address;
  const delivery = useLiveCall(getDelivery, deliveryPath(address));
  const { action, run } = useAction(() =>
    api.call(retryDelivery, deliveryPath(address)).then(delivery.refresh),
  );
  const href = hrefTo({ page: 'subscription', queue, subscription: subscriptionId });
  return (
    <>
      <PageHeading
        title={messageId}
        kind="Delivery of"
        crumbs={[
          { text: 'Endpoints', href: hrefTo({ page: 'overview' }) },
          { text: 'Endpoint', href },
        ]}
      >
        {delivery.value !== undefined && can('retry') ? (
          <WorkButton action={action} kind="primary" onClick={run}>
            {isOpenStatus(delivery.value.status) ? 'Retry now' : 'Deliver again'}
          </WorkButton>
        ) : null}
      </PageHeading>
      <ActionFailure of={action} />
      <Loaded live={delivery} lines={10}>
        {(value) => <DeliveryReport delivery={value} isForOperator={false} />}
      </Loaded>
      {showsBodies ? null : <p class="muted">The bodies of responses are not shown.</p>}
      {delivery.value === undefined ? null : <RequestSection address={address} />}
    </>
  );
}
