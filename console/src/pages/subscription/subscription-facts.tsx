import type { JSX } from 'preact';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { Facts } from '../../parts/facts.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { SubscriberUrl } from '../../parts/subscriber-url.tsx';
import { SubscriptionState } from '../../parts/subscription-state.tsx';
import { durationText } from '../../parts/time-text.ts';

export function SubscriptionFacts({ subscription }: { subscription: SubscriptionView }): JSX.Element {
  const { subscriber, age, ttl, options, failing, confirmation } = subscription;
  const { _retry_policy, ...others } = options;
  const hasOthers = Object.keys(others).length > 0;
  return (
    <div class="stack">
      <p class="lead">
        <SubscriberUrl url={subscriber} />
      </p>
      <Facts
        facts={[
          ['State', <SubscriptionState of={subscription} />],
          ['Failures in a row', failing?.failures],
          [
            'Confirmation',
            confirmation === 'owed'
              ? 'the request could not be sent; set the URL again to retry'
              : confirmation,
          ],
          ['Age', durationText(age * 1000)],
          ['Expires', ttl === null ? 'never' : `TTL of ${durationText(ttl * 1000)}`],
          ['Own retry policy', _retry_policy === undefined ? 'no' : 'yes'],
        ]}
      />
      {hasOthers ? <SourceText text={JSON.stringify(others, null, 2)} what="the options" /> : null}
    </div>
  );
}
