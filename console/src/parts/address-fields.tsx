import { hasNewOrigin, parseDestination } from '../../../shared/domain/subscription/destination.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { CheckField, type Control, InputField } from './fields.tsx';
import { Notice } from './loaded.tsx';

type AddressFieldsProps = {
  subscriber: Control;
  name: Control;
  hint?: string | undefined;
  move?: Move | undefined;
};

/** The URL and the name of a subscription in its form, with a warning where the subscriber `moves` to another origin. */
export function AddressFields({ subscriber, name, hint, move }: AddressFieldsProps) {
  return (
    <>
      <InputField
        {...subscriber}
        label="URL"
        hint={hint}
        required
        inputMode="url"
        placeholder="https://example.com/webhooks"
      />
      {move === undefined ? null : <MoveWarning {...move} />}
      <InputField {...name} label="Name" hint="Optional. Shown in lists beside the URL." />
    </>
  );
}

type Address = { subscriber: string; name: string };

/** The URL and the name in the form, as a new subscription has them. */
export function addressIn({ subscriber, name }: Address): { subscriber: string; name?: string } {
  return { subscriber: subscriber.trim(), ...(name.trim() !== '' && { name: name.trim() }) };
}

/** Those that the form changes, as a PATCH has them. */
export function changedAddress(
  before: Pick<SubscriptionView, 'subscriber' | 'name'>,
  draft: Address,
): { subscriber?: string; name?: string | null } {
  const { subscriber, name } = addressIn(draft);
  return {
    ...(subscriber !== before.subscriber && { subscriber }),
    ...(name !== before.name && { name: name ?? null }),
  };
}

type Move = { keepSecret: boolean; onKeepSecret: (keep: boolean) => void };

/** Whether the subscriber of the form is at another origin than before. */
export function isMove(
  before: Pick<SubscriptionView, 'subscriber'> | undefined,
  { subscriber }: Pick<Address, 'subscriber'>,
): boolean {
  return (
    before !== undefined &&
    URL.canParse(subscriber) &&
    hasNewOrigin(parseDestination(before.subscriber), parseDestination(subscriber))
  );
}

function MoveWarning({ keepSecret, onKeepSecret }: Move) {
  return (
    <Notice tone="warning" title="The subscriber moves to another origin">
      <p>
        {keepSecret
          ? 'The new address gets requests that are signed with the current secret.'
          : 'The signing secret changes: the new one is shown once after saving, and the subscriber has to know it.'}{' '}
        Stored credentials are not sent to the new address.
      </p>
      <CheckField label="Keep the current secret" checked={keepSecret} onChecked={onKeepSecret} />
    </Notice>
  );
}
