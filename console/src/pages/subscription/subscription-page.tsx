import { useState } from 'preact/hooks';
import { getSubscription } from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { formatLabel } from '../../../../api-client/subscription-labels.ts';
import { timeText } from '../../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { DeliveriesSection } from '../../delivery/deliveries-section.tsx';
import { useConsole } from '../../live/console-context.tsx';
import { useLive, useLiveCall } from '../../live/use-live.ts';
import { DialogButton } from '../../parts/dialog.tsx';
import { Failure, Loaded } from '../../parts/loaded.tsx';
import { crumbTo, PageHeading, Section } from '../../parts/page-heading.tsx';
import { SendTest } from '../../parts/send-test.tsx';
import { SubscriptionActions } from '../../parts/subscription-actions.tsx';
import { beginOfFailure } from '../../parts/windows.tsx';
import { hrefTo } from '../../route.ts';
import { EditSubscription } from './edit-subscription.tsx';
import { PolicyInForce, SubscriptionFacts } from './subscription-facts.tsx';

export function SubscriptionPage({ queue, id }: { queue: string; id: string }) {
  const { api } = useConsole();
  const path = { queue, subscription: id };
  const subscription = useLiveCall(getSubscription, { path });
  const { value } = subscription;
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
            <SubscriptionActions
              subscription={value}
              what="subscription"
              home={{ page: 'queue', queue }}
              restorable="For some days (the setting archiveDays) it can be restored on the page of its queue."
              rotation={
                <p class="muted">
                  The new secret is a shared secret (v1). For a key pair (v1a), run “posthaste subscription
                  rotate-secret” with --type v1a.
                </p>
              }
              onDone={subscription.refresh}
            />
          </>
        )}
      </PageHeading>
      {isMissing ? (
        // Every request of this page would fail in the same way.
        <Failure of={subscription.failure} />
      ) : (
        <>
          <div class="section">
            <Loaded live={subscription}>{(view) => <SubscriptionFacts subscription={view} />}</Loaded>
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
