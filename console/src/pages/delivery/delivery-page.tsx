import { type DeliveryAddress, deliveryPath } from '../../../../api-client/deliveries.ts';
import {
  cancelDelivery,
  type DeliveryDetail,
  getDelivery,
  getSubscription,
  retryDelivery,
} from '../../../../api-client/operations.ts';
import { formatLabel } from '../../../../api-client/subscription-labels.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { DeliveryReport } from '../../delivery/delivery-report.tsx';
import { RequestSection } from '../../delivery/request-section.tsx';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useLiveCall } from '../../live/use-live.ts';
import { WorkButton } from '../../parts/form.tsx';
import { Loaded, ActionFailure } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading } from '../../parts/page-heading.tsx';
import { SubscriptionState } from '../../parts/subscription-text.tsx';
import { hrefTo } from '../../route.ts';

export function DeliveryPage({ address }: { address: DeliveryAddress }) {
  const { queue, messageId } = address;
  const delivery = useLiveCall(getDelivery, deliveryPath(address));
  return (
    <>
      <PageHeading
        title={messageId}
        kind="Delivery of"
        crumbs={[
          crumbTo(queue),
          { text: 'Message', href: hrefTo({ page: 'message', queue, message: messageId }) },
        ]}
      >
        {delivery.value === undefined ? null : (
          <DeliveryActions address={address} delivery={delivery.value} onDone={delivery.refresh} />
        )}
      </PageHeading>
      <Receiver address={address} />
      <Loaded live={delivery} lines={10}>
        {(value) => <DeliveryReport delivery={value} />}
      </Loaded>
      {delivery.value === undefined ? null : <RequestSection address={address} />}
    </>
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

/** The buttons that retry and cancel a delivery. */
function DeliveryActions({
  address,
  delivery: { status },
  onDone,
}: {
  address: DeliveryAddress;
  delivery: DeliveryDetail;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const retry = useAction(() => api.call(retryDelivery, deliveryPath(address)).then(onDone));
  const cancel = useAction(() => api.call(cancelDelivery, deliveryPath(address)).then(onDone));
  const canBeCancelled = isOpenStatus(status);
  return (
    <>
      <WorkButton action={retry.action} kind="primary" onClick={retry.run}>
        {canBeCancelled ? 'Retry now' : 'Deliver again'}
      </WorkButton>
      {canBeCancelled ? (
        <WorkButton action={cancel.action} kind="danger" onClick={cancel.run}>
          Cancel delivery
        </WorkButton>
      ) : null}
      <ActionFailure of={retry.action} />
      <ActionFailure of={cancel.action} />
    </>
  );
}
