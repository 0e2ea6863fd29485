import type { JSX } from 'preact';
import {
  cancelDelivery,
  retryDelivery,
  type DeliveryAddress,
  type DeliveryDetail,
} from '../../../../cli/api/deliveries.ts';
import { isOpen } from '../../../../shared/domain/delivery/delivery.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { ActionFailure } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/work-button.tsx';

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
    await retryDelivery(api, address);
    onDone();
  });
  const cancel = useAction(async () => {
    await cancelDelivery(api, address);
    onDone();
  });
  const canBeCancelled = isOpen(status);
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
