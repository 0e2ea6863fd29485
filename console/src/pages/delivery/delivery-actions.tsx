import type { JSX } from 'preact';
import { type DeliveryAddress, deliveryPath } from '../../../../api-client/deliveries.ts';
import { cancelDelivery, type DeliveryDetail, retryDelivery } from '../../../../api-client/operations.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { ActionFailure } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/buttons.tsx';

/** The buttons that retry and cancel a delivery. */
export function DeliveryActions({
  address,
  delivery: { status },
  onDone,
}: {
  address: DeliveryAddress;
  delivery: DeliveryDetail;
  onDone: () => void;
}): JSX.Element {
  const { api } = useConsole();
  const retry = useAction(async () => {
    await api.call(retryDelivery, deliveryPath(address));
    onDone();
  });
  const cancel = useAction(async () => {
    await api.call(cancelDelivery, deliveryPath(address));
    onDone();
  });
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
