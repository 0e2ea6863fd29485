import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  disableSubscription,
  enableSubscription,
  type Stopped,
  unsubscribe,
} from '../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { usePage } from '../live/page-context.tsx';
import { hrefTo } from '../route.ts';
import { ConfirmButton, DialogButton } from './dialog.tsx';
import { ActionButton } from './form.tsx';
import { PauseButtons, StoppedDialog } from './pause.tsx';
import { RotateSecret } from './secret.tsx';
import { subscriberText } from './subscription-text.tsx';

type Switched = {
  subscription: SubscriptionView;
  /** What its reader calls it. */
  what: 'subscription' | 'endpoint';
  onDone: () => void;
};

/** The buttons that pause, disable and delete a subscription, and rotate its secret. */
export function SubscriptionActions({
  subscription,
  what,
  home,
  manages = true,
  rotates = true,
  rotation,
  restorable,
  onDone,
}: Switched & {
  /** The page to go to after the deletion. */
  home: Parameters<typeof hrefTo>[0];
  manages?: boolean;
  rotates?: boolean;
  /** A note in the form that rotates the secret. */
  rotation?: ComponentChildren;
  /** How a deletion is undone, for a reader who can do that. */
  restorable?: string;
}) {
  const { api } = usePage();
  const { source: queue, id, paused } = subscription;
  return (
    <>
      {manages ? (
        <>
          <PauseButtons
            queue={queue}
            subscription={id}
            name={subscriberText(subscription)}
            isPaused={paused?.by === 'subscription'}
            onDone={onDone}
          />
          <SwitchSubscription subscription={subscription} what={what} onDone={onDone} />
        </>
      ) : null}
      {rotates ? (
        <DialogButton text="Rotate secret">
          <RotateSecret queue={queue} id={id}>
            {rotation}
          </RotateSecret>
        </DialogButton>
      ) : null}
      {manages ? (
        <ConfirmButton
          text="Delete"
          verb={`Delete the ${what}`}
          work={async () => {
            await api.call(unsubscribe, { path: { queue, subscription: id } });
            location.hash = hrefTo(home);
          }}
        >
          <p>
            <span class="url">{subscriberText(subscription)}</span> gets no more requests. Its open deliveries
            are cancelled. {restorable}
          </p>
          <p>To stop the requests for a while only, pause it.</p>
        </ConfirmButton>
      ) : null}
    </>
  );
}

/** The button that enables or disables a subscription. It asks before it disables. */
function SwitchSubscription({ subscription, what, onDone }: Switched) {
  const { api } = usePage();
  const [stopped, setStopped] = useState<Stopped>();
  const { source: queue, id, disabled } = subscription;
  const path = { queue, subscription: id };
  if (disabled === undefined)
    return (
      <ConfirmButton
        text="Disable"
        kind="plain"
        verb={`Disable the ${what}`}
        work={async () => {
          setStopped(await api.call(disableSubscription, { path }));
          onDone();
        }}
      >
        <p>
          <span class="url">{subscriberText(subscription)}</span> gets no more requests: neither new messages
          nor retries. Their deliveries end as cancelled (disabled).
        </p>
        <p>The data is kept, so that a recovery can send them after you enable the {what} again.</p>
        <p>To stop the requests for a while, pause it: what waits is sent after the pause.</p>
      </ConfirmButton>
    );
  return (
    <>
      <ActionButton kind="primary" work={() => api.call(enableSubscription, { path }).then(onDone)}>
        Enable
      </ActionButton>
      <StoppedDialog title="Disabled" stopped={stopped} setStopped={setStopped} />
    </>
  );
}
