import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  getSubscription,
  rotateSecret,
  subscribe,
  updateSubscription,
} from '../../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/hooks.ts';
import { Moment } from '../../parts/facts.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { CopyButton, Form, FormActions } from '../../parts/form.tsx';
import { ActionFailure, Notice } from '../../parts/loaded.tsx';
import { hrefTo } from '../../route.ts';
import { buildCreation, buildPatch } from './subscription-draft.ts';
import { type SubscriptionEdit, SubscriptionForm } from './subscription-form.tsx';

/** The form that subscribes a URL to a queue. The signing secret is shown once. */
export function CreateSubscription({
  queue,
  onCreated,
  onClose,
}: {
  queue: string;
  onCreated: () => void;
  onClose: () => void;
}) {
  const { api } = useConsole();
  const saving = useAction(async ({ draft }: SubscriptionEdit) => {
    const body = JSON.stringify(buildCreation(draft));
    const created = await api.call(subscribe, { path: { queue }, body });
    onCreated();
    return created;
  });
  const { action } = saving;
  if (action.state !== 'done')
    return <SubscriptionForm queue={queue} verb="Create" saving={saving} onClose={onClose} />;
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

/** The form that changes a subscription. */
export function EditSubscription({
  subscription,
  onDone,
  onClose,
}: {
  subscription: SubscriptionView;
  onDone: () => void;
  onClose: () => void;
}) {
  const { api } = useConsole();
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
    if (secret === undefined) onClose();
    return secret;
  });
  const { action } = saving;
  return action.state === 'done' ? (
    <NewSecret what="new signing secret" secret={action.result ?? ''} onDone={onClose}>
      <p>The subscriber has moved to another origin. Give it this secret, which signs all requests to it.</p>
    </NewSecret>
  ) : (
    <SubscriptionForm queue={queue} before={before} verb="Save" saving={saving} onClose={onClose} />
  );
}

/** Shows a secret, or the public key of a key pair. The page keeps it only while its dialog is open. */
function NewSecret({
  what,
  secret,
  onDone,
  children,
}: {
  /** Its name in “This is the …”. */
  what: string;
  secret: string;
  onDone: () => void;
  children?: ComponentChildren;
}) {
  return (
    <div class="stack">
      <Notice tone="success" title={`This is the ${what}. It is not shown again.`} />
      <p class="command">
        <code class="secret">{secret}</code> <CopyButton text={secret} what={`the ${what}`} />
      </p>
      {children}
      <div class="actions">
        <button type="button" class="button button-primary" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}

const GRACES = [
  ['86400', '1 day'],
  ['3600', '1 hour'],
  ['604800', '7 days'],
  ['0', 'no time: it expires now'],
] as const;

export function RotateSecret({ queue, id, onClose }: { queue: string; id: string; onClose: () => void }) {
  const { api } = useConsole();
  const [grace, setGrace] = useState<string>(GRACES[0][0]);
  const { action, run } = useAction(() =>
    api.call(rotateSecret, { path: { queue, subscription: id }, body: { graceSeconds: Number(grace) } }),
  );
  if (action.state === 'done') {
    const { secret, publicKey, previousExpiresAt } = action.result;
    return (
      <NewSecret
        what={publicKey === undefined ? 'new secret' : 'new public key'}
        secret={publicKey ?? secret ?? ''}
        onDone={onClose}
      >
        {typeof previousExpiresAt === 'string' ? (
          <p>
            The old secret expires at <Moment at={previousExpiresAt} />.
          </p>
        ) : null}
      </NewSecret>
    );
  }
  return (
    <Form action={action} onSubmit={run}>
      <p>
        Webhooks are signed with the new secret from now on, and also with the old one until it expires. Give
        the new secret to the subscriber in that time.
      </p>
      <p class="muted">
        The new secret is a shared secret (v1). For a key pair (v1a), run “posthaste subscription
        rotate-secret” with --type v1a.
      </p>
      <SelectField
        label="Also sign with the old secret for"
        value={grace}
        onValue={setGrace}
        options={GRACES}
      />
      <ActionFailure of={action} />
      <FormActions action={action} verb="Rotate" kind="danger" onClose={onClose} />
    </Form>
  );
}
