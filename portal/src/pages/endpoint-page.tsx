import { useState } from 'preact/hooks';
import { enableSubscription, getSubscription, unsubscribe } from '../../../api-client/operations.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { formatLabel } from '../../../api-client/subscription-labels.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { DeliveriesSection } from '../../../console/src/delivery/deliveries-section.tsx';
import { useLoaded } from '../../../console/src/live/hooks.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLiveCall } from '../../../console/src/live/use-live.ts';
import { ConfirmButton, DialogButton } from '../../../console/src/parts/dialog.tsx';
import { ActionButton, Button } from '../../../console/src/parts/form.tsx';
import { Failure, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading, Section } from '../../../console/src/parts/page-heading.tsx';
import { PauseButtons } from '../../../console/src/parts/pause.tsx';
import { RotateSecret } from '../../../console/src/parts/secret.tsx';
import { SendTest } from '../../../console/src/parts/send-test.tsx';
import { SubscriberFacts, subscriberText } from '../../../console/src/parts/subscription-text.tsx';
import { hrefTo } from '../../../console/src/route.ts';
import { readCatalogue } from '../event-types.ts';
import { usePortal } from '../portal-context.tsx';
import { EditEndpoint } from './edit-endpoint.tsx';
import { RecoverySection } from './recovery-section.tsx';
import { Waiting } from './waiting.tsx';

const HOME = { page: 'overview' } as const;

export function EndpointPage({ id }: { id: string }) {
  const { queue } = usePortal();
  const endpoint = useLiveCall(getSubscription, { path: { queue, subscription: id } });
  const [isEditing, setIsEditing] = useState(false);
  const { value } = endpoint;
  const isMissing = isNotFound(endpoint.failure);
  return (
    <>
      <PageHeading
        title={value === undefined ? id : formatLabel(value)}
        kind="Endpoint"
        crumbs={[{ text: 'Endpoints', href: hrefTo(HOME) }]}
      >
        {value === undefined || isMissing ? null : (
          <Actions endpoint={value} onEdit={() => setIsEditing(true)} onDone={endpoint.refresh} />
        )}
      </PageHeading>
      {isMissing ? (
        // Every request of this page would fail in the same way.
        <Failure of={endpoint.failure} />
      ) : (
        <>
          {isEditing && value !== undefined ? (
            <EditEndpoint endpoint={value} onDone={endpoint.refresh} onClose={() => setIsEditing(false)} />
          ) : null}
          <div class="section">
            <Loaded live={endpoint}>{(view) => <EndpointFacts endpoint={view} />}</Loaded>
          </div>
          <GrantedSections id={id} endpoint={value} />
        </>
      )}
    </>
  );
}

/** What the link grants beside the endpoint itself. `endpoint`: undefined until it has loaded. */
function GrantedSections({ id, endpoint }: { id: string; endpoint: SubscriptionView | undefined }) {
  const { queue, can } = usePortal();
  const [sent, setSent] = useState(0);
  return (
    <>
      {can('deliveries') ? <DeliveriesSection queue={queue} id={id} sent={sent} /> : null}
      {can('retry') && endpoint !== undefined ? <RecoverySection endpoint={endpoint} /> : null}
      {can('test') ? <SendExample id={id} onSent={() => setSent(sent + 1)} /> : null}
    </>
  );
}

function SendExample({ id, onSent }: { id: string; onSent: () => void }) {
  const { api } = usePage();
  const portal = usePortal();
  const examples = useLoaded(() => readCatalogue(api, portal, true));
  const { value, failure } = examples;
  return (
    <Section title="Send an example">
      {/* Without the examples a test can still be sent, below the reason. */}
      <Loaded live={examples}>{() => null}</Loaded>
      {(value ?? failure) === undefined ? null : (
        <SendTest
          queue={portal.queue}
          id={id}
          examples={value ?? []}
          seesDeliveries={portal.can('deliveries')}
          onSent={onSent}
        />
      )}
    </Section>
  );
}

/** The buttons of what the link grants. */
function Actions({
  endpoint,
  onEdit,
  onDone,
}: {
  endpoint: SubscriptionView;
  onEdit: () => void;
  onDone: () => void;
}) {
  const { api } = usePage();
  const { queue, can } = usePortal();
  const { id, disabled, paused } = endpoint;
  const path = { queue, subscription: id };
  const manages = can('manage');
  return (
    <>
      {manages ? (
        <>
          <Button onClick={onEdit}>Change</Button>
          {disabled === undefined ? null : (
            <ActionButton kind="primary" work={() => api.call(enableSubscription, { path }).then(onDone)}>
              Enable
            </ActionButton>
          )}
          <PauseButtons
            queue={queue}
            subscription={id}
            name={subscriberText(endpoint)}
            isPaused={paused?.by === 'subscription'}
            onDone={onDone}
          />
        </>
      ) : null}
      {can('secrets') ? (
        <DialogButton text="Rotate secret">
          <RotateSecret queue={queue} id={id} />
        </DialogButton>
      ) : null}
      {manages ? (
        <ConfirmButton
          text="Delete"
          verb="Delete the endpoint"
          work={async () => {
            await api.call(unsubscribe, { path });
            location.hash = hrefTo(HOME);
          }}
        >
          <p>
            <span class="url">{subscriberText(endpoint)}</span> gets no more requests. Its open deliveries are
            cancelled.
          </p>
          <p>To stop the requests for a while only, pause it.</p>
        </ConfirmButton>
      ) : null}
    </>
  );
}

function EndpointFacts({ endpoint }: { endpoint: SubscriptionView }) {
  const { event_types: types, max_per_second: rate } = endpoint.options;
  return (
    <div class="stack">
      <SubscriberFacts
        of={endpoint}
        waiting={<Waiting endpoint={endpoint} />}
        facts={[
          ['Events', types === undefined ? 'all' : types.join(', ')],
          ['Maximum requests per second', rate ?? 'no limit'],
        ]}
      />
    </div>
  );
}
