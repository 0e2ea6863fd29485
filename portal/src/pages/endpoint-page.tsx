import { useState } from 'preact/hooks';
import { getSubscription } from '../../../api-client/operations.ts';
import { isNotFound } from '../../../api-client/refusal.ts';
import { formatLabel } from '../../../api-client/subscription-labels.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { DeliveriesSection } from '../../../console/src/delivery/deliveries-section.tsx';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLive, useLiveCall } from '../../../console/src/live/use-live.ts';
import { Button } from '../../../console/src/parts/form.tsx';
import { Failure, Loaded } from '../../../console/src/parts/loaded.tsx';
import { PageHeading, Section } from '../../../console/src/parts/page-heading.tsx';
import { SubscriptionActions } from '../../../console/src/parts/subscription-actions.tsx';
import { SendTest } from '../../../console/src/parts/send-test.tsx';
import { SubscriberFacts } from '../../../console/src/parts/subscription-text.tsx';
import { Waiting } from '../../../console/src/parts/waiting.tsx';
import { hrefTo } from '../../../console/src/route.ts';
import { readCatalogue } from '../event-types.ts';
import { usePortal } from '../portal-context.tsx';
import { EditEndpoint } from './edit-endpoint.tsx';
import { RecoverySection } from './recovery-section.tsx';

const HOME = { page: 'overview' } as const;

export function EndpointPage({ id }: { id: string }) {
  const { queue, can } = usePortal();
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
          <>
            {can('manage') ? <Button onClick={() => setIsEditing(true)}>Change</Button> : null}
            <SubscriptionActions
              subscription={value}
              what="endpoint"
              home={HOME}
              manages={can('manage')}
              rotates={can('secrets')}
              onDone={endpoint.refresh}
            />
          </>
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
  const examples = useLive('examples', () => readCatalogue(api, portal, true), { once: true });
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

function EndpointFacts({ endpoint }: { endpoint: SubscriptionView }) {
  const { can } = usePortal();
  const { event_types: types, max_per_second: rate } = endpoint.options;
  return (
    <div class="stack">
      <SubscriberFacts
        of={endpoint}
        waiting={<Waiting of={endpoint} seesDeliveries={can('deliveries')} />}
        facts={[
          ['Events', types === undefined ? 'all' : types.join(', ')],
          ['Maximum requests per second', rate ?? 'no limit'],
        ]}
      />
    </div>
  );
}
