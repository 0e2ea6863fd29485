import { useState } from 'preact/hooks';
import { getSubscription, subscribe, updateSubscription } from '../../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { useClose } from '../../parts/form.tsx';
import { NewSecret } from '../../parts/secret.tsx';
import { hrefTo } from '../../route.ts';
import { buildCreation, buildPatch } from './subscription-draft.ts';
import { type SubscriptionEdit, SubscriptionForm } from './subscription-form.tsx';

/** The form that subscribes a URL to a queue. The signing secret is shown once. */
export function CreateSubscription({ queue, onCreated }: { queue: string; onCreated: () => void }) {
  const { api } = useConsole();
  const saving = useAction(async ({ draft }: SubscriptionEdit) => {
    const body = JSON.stringify(buildCreation(draft));
    const created = await api.call(subscribe, { path: { queue }, body });
    onCreated();
    return created;
  });
  const { action } = saving;
  if (action.state !== 'done') return <SubscriptionForm queue={queue} saving={saving} />;
  const { subscription_id: subscription, secret = '', confirmation } = action.result;
  return (
    <NewSecret
      what="signing secret of the subscription"
      secret={secret}
      onDone={() => {
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

/** The form that changes a subscription. */
export function EditSubscription({
  subscription,
  onDone,
}: {
  subscription: SubscriptionView;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const close = useClose();
  // The page reads the subscription again and again: the changes are those to what the form showed at first.
  const [before] = useState(subscription);
  const { source: queue, id } = before;
  const saving = useAction(async ({ draft, keepSecret }: SubscriptionEdit) => {
    const path = { queue, subscription: id };
    // Other options may have changed meanwhile.
    const patch = buildPatch(before, draft, await api.call(getSubscription, { path }));
    const body = JSON.stringify({ ...patch, ...(keepSecret && { secret: 'keep' }) });
    // A new one, if the subscriber moved to another origin.
    const { secret } = patch === undefined ? {} : await api.call(updateSubscription, { path, body });
    onDone();
    if (secret === undefined) close();
    return secret;
  });
  const { action } = saving;
  return action.state === 'done' ? (
    <NewSecret what="new signing secret" secret={action.result ?? ''}>
      <p>The subscriber has moved to another origin. Give it this secret, which signs all requests to it.</p>
    </NewSecret>
  ) : (
    <SubscriptionForm queue={queue} before={before} saving={saving} />
  );
}
