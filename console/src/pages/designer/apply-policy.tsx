import { useId, useState } from 'preact/hooks';
import {
  getSubscription,
  listQueues,
  listSubscriptions,
  patchQueue,
  updateSubscription,
} from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { ApiRefusal } from '../../../../api-client/refusal.ts';
import type { PartialRetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import type { PageClient } from '../../api/page-client.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useAction } from '../../live/use-action.ts';
import { useLive } from '../../live/use-live.ts';
import { WorkButton, Form } from '../../parts/form.tsx';
import { Field, SelectField } from '../../parts/fields.tsx';
import { ActionFailure, Notice } from '../../parts/notice.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { queuePolicy } from '../queue/edit-queue.tsx';

const MOST = 100;

/** Stores a policy on a queue or a subscription. `onRefused` gets the fields that the API rejects. */
export function ApplyPolicy({
  policy,
  requested,
  onRefused,
}: {
  policy: PartialRetryPolicy | undefined;
  /** The owner that is chosen at first. */
  requested: PolicyOwner;
  onRefused: (fields: ApiRefusal['fields']) => void;
}) {
  const { api } = useConsole();
  const names = useId();
  const [owner, setOwner] = useState(requested);
  const { queue, subscription } = owner;
  const [chosenQueue, setChosenQueue] = useState(queue);
  const queues = useLive('designer/queues', () =>
    api.items(listQueues, { query: { detailed: true }, most: MOST }),
  );
  const subscriptions = useLive(`designer/subscriptions/${chosenQueue}`, async () =>
    chosenQueue === ''
      ? undefined
      : api.items(listSubscriptions, { path: { queue: chosenQueue }, most: MOST }),
  );
  const { action, run } = useAction(async (given: PartialRetryPolicy) => {
    try {
      await storePolicy(api, owner, given);
    } catch (error) {
      if (error instanceof ApiRefusal) onRefused(error.fields);
      throw error;
    }
  });
  return (
    <Form
      action={action}
      onSubmit={() => {
        if (policy !== undefined) run(policy);
      }}
    >
      <Field label="Queue">
        {(parts) => (
          <>
            <input
              {...parts}
              required
              list={names}
              value={queue}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => {
                setOwner({ queue: currentTarget.value });
              }}
              onChange={({ currentTarget }) => {
                setChosenQueue(currentTarget.value);
              }}
            />
            <datalist id={names}>
              {(queues.value?.items ?? []).map(({ name }) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <SelectField
        label="Subscription"
        hint="Choose one to set its policy instead of the queue’s."
        value={subscription ?? ''}
        onValue={(id) => {
          setOwner(id === '' ? { queue } : { queue, subscription: id });
        }}
        options={[
          ['', 'none: set the queue’s policy'],
          ...(subscriptions.value?.items ?? []).map((one) => [one.id, subscriberText(one)] as const),
        ]}
      />
      <WorkButton action={action} kind="primary" submit>
        Apply
      </WorkButton>
      {policy === undefined ? <p class="muted">Fix the errors above first.</p> : null}
      {action.state === 'done' ? (
        <Notice tone="success" title="Policy applied">
          <p>
            It applies to deliveries that first fail from now on. Deliveries that are being retried keep their
            policy.
          </p>
        </Notice>
      ) : null}
      <ActionFailure of={action} />
    </Form>
  );
}

/** The owner of a policy: a queue, or a subscription on it. */
export type PolicyOwner = { queue: string; subscription?: string };

/** The stored policy; undefined where there is none, or where the queue does not exist. */
export async function storedPolicy(
  api: PageClient,
  { queue, subscription }: PolicyOwner,
): Promise<PartialRetryPolicy | undefined> {
  if (subscription !== undefined)
    return (await api.call(getSubscription, { path: { queue, subscription } })).options._retry_policy;
  return queuePolicy(await findQueue(api, queue));
}

/** Stores a policy. The API replaces all options of a subscription, so this reads them first; redacted ones stay. */
async function storePolicy(
  api: PageClient,
  { queue, subscription }: PolicyOwner,
  policy: PartialRetryPolicy,
): Promise<void> {
  if (subscription === undefined) {
    const patch = [{ op: 'add', path: '/metadata/_retry_policy', value: policy }];
    await api.call(patchQueue, { path: { queue }, body: JSON.stringify(patch) });
    return;
  }
  const { options } = await api.call(getSubscription, { path: { queue, subscription } });
  await api.call(updateSubscription, {
    path: { queue, subscription },
    body: JSON.stringify({ options: { ...options, _retry_policy: policy } }),
  });
}
