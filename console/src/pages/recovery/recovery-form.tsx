import { useState } from 'preact/hooks';
import { startRecovery, listDeliveries, type ListedDelivery } from '../../../../api-client/operations.ts';
import { counted } from '../../../../api-client/words.ts';
import {
  RECOVERABLE_STATUSES,
  type RecoverableStatus,
} from '../../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { filtered, readFirst } from '../../api/listed.ts';
import { useConsole } from '../../live/console-context.tsx';
import { loadedBy, useAction } from '../../live/hooks.ts';
import { Form, WorkButton } from '../../parts/form.tsx';
import { ActionFailure, Notice } from '../../parts/loaded.tsx';
import { SelectField, useDraft } from '../../parts/fields.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { type TimeWindow, WindowFields, windowIn } from '../../parts/windows.tsx';
import type { Query } from '../../route.ts';
import { deliveryQuery } from '../../../../api-client/deliveries.ts';
import type { ApiClient } from '../../../../api-client/api-client.ts';

type RecoveryFormProps = {
  queue: string;
  query: Query;
  subscriptions: readonly SubscriptionView[];
  onStarted: () => void;
};

export function RecoveryForm({ queue, query, subscriptions, onStarted }: RecoveryFormProps) {
  const { api } = useConsole();
  const [initial] = useState((): Filter => {
    return { window: windowIn(query), subscription: query['subscription'] ?? '', status: undefined };
  });
  const { draft: filter, change } = useDraft(initial, () => {
    count.reset();
    start.reset();
  });
  const { window, subscription, status } = filter;
  const selected = (): Selection => ({
    queue,
    since: window.since,
    until: window.until ?? Date.now(),
    ...(subscription !== '' && { subscription }),
    ...(status !== undefined && { status }),
  });
  const count = useAction(async () => {
    const selection = selected();
    return { selection, failed: await countFailed(api, selection) };
  });
  const start = useAction(async ({ queue: name, since, until, ...filter }: Selection) => {
    const times = { since: timeText(since), until: timeText(until) };
    await api.call(startRecovery, { path: { queue: name }, body: { ...times, ...filter } });
    count.reset();
    onStarted();
  });
  const { value: found } = loadedBy(count.action);
  return (
    <Form
      action={count.action}
      verb="Count matching deliveries"
      kind="plain"
      onSubmit={() => {
        start.reset();
        count.run();
      }}
      result={
        <>
          {found === undefined ? null : <CountResult failed={found.failed} />}
          {found === undefined || sumFailures(found.failed) === 0 ? null : (
            <WorkButton action={start.action} kind="primary" onClick={() => start.run(found.selection)}>
              Recover {recoverable(found.failed)}
            </WorkButton>
          )}
          {start.action.state === 'done' ? (
            <Notice tone="success" title="Recovery started. It continues in the background." />
          ) : null}
          <ActionFailure of={start.action} />
        </>
      }
    >
      <WindowFields window={window} onChange={change('window')} />
      <div class="window-fields">
        <SelectField
          label="Subscription"
          value={subscription}
          onValue={change('subscription')}
          options={[['', 'all subscriptions'], ...subscriptionOptions(subscriptions, subscription)]}
        />
        <SelectField
          label="Status"
          hint={
            status === undefined
              ? 'Manually cancelled deliveries are left alone. To include them, choose “cancelled”.'
              : undefined
          }
          value={status ?? ''}
          onValue={(text) => change('status')(RECOVERABLE_STATUSES.find((one) => one === text))}
          options={[['', 'all failed deliveries'], ...RECOVERABLE_STATUSES]}
        />
      </div>
    </Form>
  );
}

/** `subscription`: empty for all. */
type Filter = { window: TimeWindow; subscription: string; status: RecoverableStatus | undefined };

/** The chosen subscription may be beyond the listed ones: a link can name any. */
function subscriptionOptions(
  subscriptions: readonly SubscriptionView[],
  chosen: string,
): (readonly [id: string, text: string])[] {
  const listed = subscriptions.map((one) => [one.id, subscriberText(one)] as const);
  const isListed = chosen === '' || listed.some(([id]) => id === chosen);
  return isListed ? listed : [[chosen, chosen], ...listed];
}

function recoverable(failed: FailedCount): string {
  return failed.more ? 'all' : counted(sumFailures(failed), 'delivery', 'deliveries');
}

function CountResult({ failed }: { failed: FailedCount }) {
  return sumFailures(failed) === 0 ? (
    <Notice title="No failed deliveries match" />
  ) : (
    <Notice title={failed.more ? `More than ${MAX_COUNTED} deliveries` : recoverable(failed)}>
      <p>
        {RECOVERABLE_STATUSES.filter((status) => failed.by[status] > 0)
          .map((status) => `${failed.by[status]}${failed.by[status] === MAX_COUNTED ? '+' : ''} ${status}`)
          .join(', ')}
        .
      </p>
    </Notice>
  );
}

/** Which deliveries a recovery reopens. Times are milliseconds since the epoch. */
type Selection = {
  queue: string;
  since: number;
  until: number;
  subscription?: string;
  status?: RecoverableStatus;
};

/** A limit for each status, because counting reads every record. */
const MAX_COUNTED = 1000;

type FailedCount = { by: Readonly<Record<RecoverableStatus, number>>; more: boolean };

/** Counts the deliveries that a recovery would reopen now. Without a status it excludes manually cancelled ones. */
async function countFailed(api: ApiClient, { queue, status, ...selection }: Selection): Promise<FailedCount> {
  const by = { rejected: 0, exhausted: 0, cancelled: 0 };
  let more = false;
  for (const one of status === undefined ? RECOVERABLE_STATUSES : [status]) {
    const query = deliveryQuery({ ...selection, status: one });
    const all = api.list(listDeliveries, { path: { queue }, query });
    const recovered = filtered(all, (delivery) => status !== undefined || !isManuallyCancelled(delivery));
    const listed = await readFirst(recovered, MAX_COUNTED);
    by[one] = listed.items.length;
    more ||= listed.more;
  }
  return { by, more };
}

function isManuallyCancelled({ status, reason }: ListedDelivery): boolean {
  return status === 'cancelled' && reason === 'manual';
}

function sumFailures({ by }: FailedCount): number {
  return by.rejected + by.exhausted + by.cancelled;
}
