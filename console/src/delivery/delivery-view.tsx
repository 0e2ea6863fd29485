import type { ComponentChildren } from 'preact';
import { type DeliveryAddress, deliveryPath } from '../../../api-client/deliveries.ts';
import { cancelDelivery, getDelivery, retryDelivery } from '../../../api-client/operations.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import { useAction } from '../live/hooks.ts';
import { usePage } from '../live/page-context.tsx';
import { useLiveCall } from '../live/use-live.ts';
import { WorkButton } from '../parts/form.tsx';
import { ActionFailure, Loaded } from '../parts/loaded.tsx';
import { type Crumb, PageHeading } from '../parts/page-heading.tsx';
import { DeliveryReport } from './delivery-report.tsx';
import { RequestSection } from './request-section.tsx';

type ViewProps = {
  address: DeliveryAddress;
  crumbs: readonly Crumb[];
  canRetry?: boolean;
  /** Can cancel, and sees what customers do not. */
  isForOperator?: boolean;
  /** Below the heading. */
  children?: ComponentChildren;
};

/** The page of a delivery: its attempts, its request, and the buttons that retry and cancel it. */
export function DeliveryView({
  address,
  crumbs,
  canRetry = true,
  isForOperator = true,
  children,
}: ViewProps) {
  const delivery = useLiveCall(getDelivery, deliveryPath(address));
  const { value } = delivery;
  return (
    <>
      <PageHeading title={address.messageId} kind="Delivery of" crumbs={crumbs}>
        {value === undefined || !canRetry ? null : (
          <DeliveryActions
            address={address}
            isOpen={isOpenStatus(value.status)}
            canCancel={isForOperator}
            onDone={delivery.refresh}
          />
        )}
      </PageHeading>
      {children}
      <Loaded live={delivery} lines={10}>
        {(known) => <DeliveryReport delivery={known} isForOperator={isForOperator} />}
      </Loaded>
      {value === undefined ? null : <RequestSection address={address} />}
    </>
  );
}

type DeliveryActionsProps = {
  address: DeliveryAddress;
  isOpen: boolean;
  canCancel: boolean;
  onDone: () => void;
};

function DeliveryActions({ address, isOpen, canCancel, onDone }: DeliveryActionsProps) {
  const { api } = usePage();
  const retry = useAction(() => api.call(retryDelivery, deliveryPath(address)).then(onDone));
  const cancel = useAction(() => api.call(cancelDelivery, deliveryPath(address)).then(onDone));
  return (
    <>
      <WorkButton action={retry.action} kind="primary" onClick={retry.run}>
        {isOpen ? 'Retry now' : 'Deliver again'}
      </WorkButton>
      {isOpen && canCancel ? (
        <WorkButton action={cancel.action} kind="danger" onClick={cancel.run}>
          Cancel delivery
        </WorkButton>
      ) : null}
      <ActionFailure of={retry.action} />
      <ActionFailure of={cancel.action} />
    </>
  );
}
