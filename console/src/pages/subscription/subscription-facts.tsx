import { DEFAULT_RETRY_POLICY } from '../../../../shared/domain/retry/policy.ts';
import type { PolicySource } from '../../../../shared/domain/retry/vocabulary.ts';
import { policyFor } from '../../../../shared/domain/subscription/delivery-policy.ts';
import { type Destination, parseDestination } from '../../../../shared/domain/subscription/destination.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { Moment, PolicyFacts } from '../../parts/facts.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { SubscriberFacts } from '../../parts/subscription-text.tsx';
import { Waiting } from '../../parts/waiting.tsx';
import { durationText } from '../../parts/time-text.ts';
import { hrefTo } from '../../route.ts';
import { queuePolicy } from '../queue/edit-queue.tsx';
import { authText } from './auth-fields.tsx';

const SOURCES: Record<PolicySource, string> = {
  subscription: 'the subscription’s policy',
  queue: 'the queue’s policy',
  defaults: 'the defaults, because neither the subscription nor its queue has a policy',
};

const DEFAULTS = {
  defaultRetryPolicy: DEFAULT_RETRY_POLICY,
  retryThrottled: false,
  adaptToThrottling: false,
  holdWhileDown: false,
};

/** The policy for a delivery that first fails now. */
export function PolicyInForce({
  subscription,
  metadata = {},
}: {
  subscription: SubscriptionView;
  metadata: Record<string, unknown> | undefined;
}) {
  const retryPolicy = queuePolicy(metadata);
  const queue = { metadata, ...(retryPolicy !== undefined && { retryPolicy }) };
  const { source, policy } = policyFor({ queue, subscription }, DEFAULTS);
  const { id, options } = subscription;
  const query = { queue: subscription.source, subscription: id };
  return (
    <div class="stack">
      <p>
        Source: <strong>{SOURCES[source]}</strong>
        {source === 'queue' && options._retry_policy !== undefined
          ? ', which overrides the subscription’s policy'
          : ''}
        . Missing fields are shown with Posthaste’s defaults; this deployment may have others.
      </p>
      <PolicyFacts policy={policy} />
      <p>
        <a href={hrefTo({ page: 'designer', query })}>Edit the retry policy</a>
      </p>
    </div>
  );
}

export function SubscriptionFacts({ subscription }: { subscription: SubscriptionView }) {
  const { subscriber, age, ttl, options, certificateExpiresAt, confirmation } = subscription;
  const { _retry_policy, ...others } = options;
  const hasOthers = Object.keys(others).length > 0;
  return (
    <div class="stack">
      <SubscriberFacts
        of={subscription}
        waiting={<Waiting of={subscription} />}
        facts={[
          ['Receives', waysToReceive[parseDestination(subscriber).kind]],
          [
            'Confirmation',
            confirmation === 'owed'
              ? 'the request could not be sent; to send it again, run “posthaste subscription update” with the same --url'
              : confirmation && 'the request was sent',
          ],
          ['Age', durationText(age * 1000)],
          [
            'Expires',
            ttl === null
              ? 'never'
              : `${durationText(ttl * 1000)} after creation, or after its TTL was last changed`,
          ],
          ['Authentication', options.auth && authText(options.auth)],
          ['Certificate expires', certificateExpiresAt && <Moment at={certificateExpiresAt} />],
          [
            'Retry policy',
            _retry_policy === undefined ? 'none on this subscription' : 'set on this subscription',
          ],
        ]}
      />
      {hasOthers ? <SourceText text={JSON.stringify(others, null, 2)} what="the options" /> : null}
    </div>
  );
}

const waysToReceive: Record<Destination['kind'], string | undefined> = {
  webhook: undefined,
  pull: 'by pull',
};
