import type { JSX } from 'preact';
import { subscribe } from '../../../../api-client/operations.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { hrefTo } from '../../route.ts';
import { NewSecret } from './new-secret.tsx';
import { creationOf } from './subscription-draft.ts';
import { SubscriptionForm, type SubscriptionEdit } from './subscription-form.tsx';

/** The button that subscribes a URL to a queue, and its form. The signing secret is shown once. */
export function CreateSubscription({
  queue,
  onCreated,
}: {
  queue: string;
  onCreated: () => void;
}): JSX.Element {
  return (
    <DialogButton text="Create subscription" kind="primary" wide>
      {(close) => <CreateForm queue={queue} onCreated={onCreated} onClose={close} />}
    </DialogButton>
  );
}

function CreateForm({
  queue,
  onCreated,
  onClose,
}: {
  queue: string;
  onCreated: () => void;
  onClose: () => void;
}): JSX.Element {
  const { api } = useConsole();
  const { action, run, reset } = useAction(async ({ draft }: SubscriptionEdit) => {
    const created = await api.call(subscribe, { path: { queue }, body: JSON.stringify(creationOf(draft)) });
    onCreated();
    return created;
  });
  if (action.state !== 'done')
    return (
      <SubscriptionForm
        queue={queue}
        verb="Create"
        action={action}
        onSave={run}
        onChanged={reset}
        onClose={onClose}
      />
    );
  const { subscription_id: subscription, secret = '', confirmation } = action.result;
  return (
    <NewSecret
      what="signing secret of the subscription"
      secret={secret}
      onDone={() => {
        onClose();
        location.hash = hrefTo({ page: 'subscription', queue, subscription });
      }}
    >
      <p>Give it to the subscriber, which verifies each request with it.</p>
      {confirmation === undefined ? null : (
        <p>
          {confirmation === 'asked'
            ? 'The subscriber gets messages once it has confirmed the request that it was sent.'
            : 'The confirmation request could not be sent. To send it again, run “posthaste subscription update” with the same --url.'}
        </p>
      )}
    </NewSecret>
  );
}
