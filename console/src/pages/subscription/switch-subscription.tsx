import type { JSX } from 'preact';
import { switchSubscription } from '../../../../cli/api/subscriptions.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { Failure } from '../../parts/notice.tsx';
import { WorkButton } from '../../parts/work-button.tsx';

/** The button that enables or disables a subscription. */
export function SwitchSubscription({
  queue,
  subscription,
  onDone,
}: {
  queue: string;
  subscription: SubscriptionView;
  onDone: () => void;
}): JSX.Element {
  const { api } = useConsole();
  const to = subscription.disabled === undefined ? 'disable' : 'enable';
  const { action, run } = useAction(async () => {
    await switchSubscription(api, queue, subscription.id, to);
    onDone();
  });
  return (
    <>
      <WorkButton action={action} onClick={run} kind={to === 'enable' ? 'primary' : 'plain'}>
        {to === 'enable' ? 'Enable' : 'Disable'}
      </WorkButton>
      {action.state === 'failed' ? <Failure of={action.failure} /> : null}
    </>
  );
}
