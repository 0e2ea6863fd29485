import { useState } from 'preact/hooks';
import {
  disableSubscription,
  enableSubscription,
  getSubscription,
  type Stopped,
  unsubscribe,
} from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { formatLabel } from '../../../../api-client/subscription-labels.ts';
import { waitingText } from '../../../../api-client/waiting.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { DeliveriesSection } from '../../delivery/deliveries-section.tsx';
import { useConsole } from '../../live/console-context.tsx';
import { useLive, useLiveCall } from '../../live/use-live.ts';
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx';
import { ActionButton } from '../../parts/form.tsx';
import { Failure, Loaded } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading, Section } from '../../parts/page-heading.tsx';
import { PauseButtons, StoppedDialog } from '../../parts/pause.tsx';
import { RotateSecret } from '../../parts/secret.tsx';
import { SendTest } from '../../parts/send-test.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { momentText } from '../../parts/time-text.ts';
import { beginOfFailure } from '../../parts/windows.tsx';
import { hrefTo } from '../../route.ts';
import { EditSubscription } from './edit-subscription.tsx';
import { PolicyInForce, SubscriptionFacts } from './subscription-facts.tsx';

export function SubscriptionPage({ queue, id }: { queue: string; id: string }) {
  const { api } = useConsole();
  const path = { queue, subscription: id };
  const subscription = useLiveCall(getSubscription, { path });
  const { value } = subscription;
  const paused = value?.paused;
  const waiting = useLive(
    `waiting/${queue}/${id}/${JSON.stringify(paused)}`,
    async (signal) => (await waitingText(api, path, { paused, formatTime: momentText }, signal)) ?? null,
  );
  const metadata = useLive(`queue/${queue}`, () => findQueue(api, queue));
  const [sent, setSent] = useState(0);
  const isMissing = isNotFound(subscription.failure);
  return (
    <>
      <PageHeading
        {...(value === undefined ? { title: id } : { title: formatLabel(value), id })}
        kind="Subscription"
        crumbs={[crumbTo(queue)]}
      >
        {value === undefined || isMissing ? null : (
          <>
            <DialogButton text="Edit" title="Edit subscription" wide>
              <EditSubscription subscription={value} onDone={subscription.refresh} />
            </DialogButton>
            <PauseButtons
              queue={queue}
              subscription={id}
              name={subscriberText(value)}
              isPaused={value.paused?.by === 'subscription'}
              onDone={subscription.refresh}
            />
            <SwitchSubscription subscription={value} onDone={subscription.refresh} />
            <DialogButton text="Rotate secret">
              <RotateSecret queue={queue} id={id}>
                <p class="muted">
                  The new secret is a shared secret (v1). For a key pair (v1a), run “posthaste subscription
                  rotate-secret” with --type v1a.
                </p>
              </RotateSecret>
            </DialogButton>
            <DeleteSubscription subscription={value} />
          </>
        )}
      </PageHeading>
      {isMissing ? (
        // Every request of this page would fail in the same way.
        <Failure of={subscription.failure} />
      ) : (
        <>
          <div class="section">
            <Loaded live={subscription}>
              {(view) => <SubscriptionFacts subscription={view} waiting={waiting.value ?? undefined} />}
            </Loaded>
          </div>
          <div class="columns">
            <Section title="Send a test message">
              <SendTest queue={queue} id={id} onSent={() => setSent(sent + 1)} />
            </Section>
            <Section title="Retry policy in force">
              {value === undefined ? null : <PolicyInForce subscription={value} metadata={metadata.value} />}
            </Section>
          </div>
          <DeliveriesSection
            queue={queue}
            id={id}
            sent={sent}
            aside={
              <span class="actions">
                <a href={hrefTo({ page: 'deliveries', queue, query: { subscription: id } })}>
                  All unsuccessful deliveries
                </a>
                <a href={recoveryHref(queue, id, value)}>Recover failed deliveries</a>
              </span>
            }
          />
        </>
      )}
    </>
  );
}

/** The form that recovers the deliveries to a subscription, from its first failure in a row. */
function recoveryHref(queue: string, id: string, value: SubscriptionView | undefined): string {
  const failedAt = value && beginOfFailure(value);
  const since = failedAt === undefined ? undefined : timeText(failedAt);
  return hrefTo({ page: 'recovery', queue, query: { subscription: id, since } });
}

/** The button that deletes a subscription, after a question. */
function DeleteSubscription({ subscription }: { subscription: SubscriptionView }) {
  const { api } = useConsole();
  const { source: queue, id } = subscription;
  return (
    <ConfirmButton
      text="Delete"
      verb="Delete the subscription"
      work={async () => {
        await api.call(unsubscribe, { path: { queue, subscription: id } });
        location.hash = hrefTo({ page: 'queue', queue });
      }}
    >
      <p>
        <span class="url">{subscriberText(subscription)}</span> gets no more requests. Its open deliveries are
        cancelled. For some days (the setting archiveDays) it can be restored on the page of its queue.
      </p>
      <p>To stop the requests for a while only, disable it.</p>
    </ConfirmButton>
  );
}

/** The button that enables or disables a subscription. It asks before it disables. */
function SwitchSubscription({
  subscription,
  onDone,
}: {
  subscription: SubscriptionView;
  onDone: () => void;
}) {
  const { api } = useConsole();
  const [stopped, setStopped] = useState<Stopped>();
  const { source: queue, id, disabled } = subscription;
  const path = { queue, subscription: id };
  if (disabled === undefined)
    return (
      <ConfirmButton
        text="Disable"
        kind="plain"
        verb="Disable the subscription"
        work={async () => {
          setStopped(await api.call(disableSubscription, { path }));
          onDone();
        }}
      >
        <p>
          <span class="url">{subscriberText(subscription)}</span> gets no more requests: neither new messages
          nor retries. Their deliveries end as cancelled (disabled).
        </p>
        <p>The data is kept, so that a recovery can send them after you enable the subscription again.</p>
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
