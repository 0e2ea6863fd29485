import type { JSX } from 'preact';
import { disableSubscription, enableSubscription } from '../../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { ActionFailure } from '../../parts/notice.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { WorkButton } from '../../parts/buttons.tsx';

type Switch = { queue: string; subscription: SubscriptionView; onDone: () => void };

/** The button that enables or disables a subscription. It asks before it disables. */
export function SwitchSubscription({ queue, subscription, onDone }: Switch): JSX.Element {
  const { api } = useConsole();
  const { id, disabled } = subscription;
  const { action, run } = useAction(async () => {
    await api.call(enableSubscription, { path: { queue, subscription: id } });
    onDone();
  });
  if (disabled === undefined)
    return (
      <ConfirmButton
        text="Disable"
        kind="plain"
        verb="Disable the subscription"
        work={async () => {
          await api.call(disableSubscription, { path: { queue, subscription: id } });
          onDone();
        }}
      >
        <p>
          <span class="url">{subscriberText(subscription)}</span> gets no more requests: neither new messages
          nor retries. Their deliveries end as cancelled (disabled).
        </p>
        <p>The data is kept, so that a recovery can send them after you enable the subscription again.</p>
      </ConfirmButton>
    );
  return (
    <>
      <WorkButton action={action} onClick={run} kind="primary">
        Enable
      </WorkButton>
      <ActionFailure of={action} />
    </>
  );
}
