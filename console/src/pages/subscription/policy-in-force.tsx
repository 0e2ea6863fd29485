import type { JSX } from 'preact';
import type { PolicySource } from '../../../../shared/domain/retry/vocabulary.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { policyFor } from '../../../../shared/domain/subscription/delivery-policy.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { PolicyFacts } from '../../parts/facts.tsx';
import { hrefTo } from '../../route.ts';
import { queuePolicy } from '../queue/queue-draft.ts';

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
}): JSX.Element {
  const retryPolicy = queuePolicy(metadata);
  const queue = { metadata, ...(retryPolicy !== undefined && { retryPolicy }) };
  const { source, policy } = policyFor({ queue, subscription }, DEFAULTS);
  return <PolicyWithSource subscription={subscription} source={source} policy={policy} />;
}

function PolicyWithSource({
  subscription: { source: queue, id, options },
  source,
  policy,
}: {
  subscription: SubscriptionView;
  source: PolicySource;
  policy: RetryPolicy;
}): JSX.Element {
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
        <a href={hrefTo({ page: 'designer', query: { queue, subscription: id } })}>Edit the retry policy</a>
      </p>
    </div>
  );
}
