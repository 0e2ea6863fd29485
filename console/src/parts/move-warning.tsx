import { hasNewOrigin, parseDestination } from '../../../shared/domain/subscription/destination.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { Notice } from './loaded.tsx';

/** Whether the subscriber of the form is at another origin than before. */
export function isMove(
  before: Pick<SubscriptionView, 'subscriber'>,
  { subscriber }: { subscriber: string },
): boolean {
  return (
    URL.canParse(subscriber) &&
    hasNewOrigin(parseDestination(before.subscriber), parseDestination(subscriber))
  );
}

export function MoveWarning({
  keepSecret,
  onKeepSecret,
}: {
  keepSecret: boolean;
  onKeepSecret: (keep: boolean) => void;
}) {
  return (
    <Notice tone="warning" title="The subscriber moves to another origin">
      <p>
        {keepSecret
          ? 'The new address gets requests that are signed with the current secret.'
          : 'The signing secret changes: the new one is shown once after saving, and the subscriber has to know it.'}{' '}
        Stored credentials are not sent to the new address.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={keepSecret}
          onChange={({ currentTarget }) => {
            onKeepSecret(currentTarget.checked);
          }}
        />
        Keep the current secret
      </label>
    </Notice>
  );
}
