import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getSubscription, updateSubscription } from '../../../../api-client/operations.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { NewSecret } from './new-secret.tsx';
import { patchOf } from './subscription-draft.ts';
import { SubscriptionForm, type SubscriptionEdit } from './subscription-form.tsx';

/** The button that changes a subscription, and its form. */
export function EditSubscription(of: { subscription: SubscriptionView; onDone: () => void }): JSX.Element {
  return (
    <DialogButton text="Edit" title="Edit subscription" wide>
      {(close) => <EditForm {...of} onClose={close} />}
    </DialogButton>
  );
}

function EditForm({
  subscription,
  onDone,
  onClose,
}: {
  subscription: SubscriptionView;
  onDone: () => void;
  onClose: () => void;
}): JSX.Element {
  const { api } = useConsole();
  // The page reads the subscription again and again: the changes are those to what the form showed at first.
  const [before] = useState(subscription);
  const { source: queue, id } = before;
  const { action, run, reset } = useAction(async ({ draft, keepSecret }: SubscriptionEdit) => {
    const secret = await save(draft, keepSecret);
    onDone();
    if (secret === undefined) onClose();
    return secret;
  });
  /** Returns the new secret, if the subscriber moved to another origin. Other options may have changed meanwhile. */
  const save = async (draft: SubscriptionEdit['draft'], keepSecret: boolean): Promise<string | undefined> => {
    const patch = patchOf(
      before,
      draft,
      await api.call(getSubscription, { path: { queue, subscription: id } }),
    );
    if (patch === undefined) return undefined;
    const body = { ...patch, ...(keepSecret && { secret: 'keep' }) };
    return (
      await api.call(updateSubscription, { path: { queue, subscription: id }, body: JSON.stringify(body) })
    ).secret;
  };
  return action.state === 'done' ? (
    <NewSecret what="new signing secret" secret={action.result ?? ''} onDone={onClose}>
      <p>The subscriber has moved to another origin. Give it this secret, which signs all requests to it.</p>
    </NewSecret>
  ) : (
    <SubscriptionForm
      queue={queue}
      before={before}
      verb="Save"
      action={action}
      onSave={run}
      onChanged={reset}
      onClose={onClose}
    />
  );
}
