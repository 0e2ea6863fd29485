import type { ComponentChildren, JSX } from 'preact';
import { type Destination, parseDestination } from '../../../../shared/domain/subscription/destination.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { pressureWords } from '../../parts/back-pressure.ts';
import { SubscriberUrl, SubscriptionState } from '../../parts/subscription-text.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Moment } from '../../parts/moment.tsx';
import { Notice } from '../../parts/notice.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { durationText } from '../../parts/time-text.ts';
import { authText } from './auth-draft.ts';

export function SubscriptionFacts({
  subscription,
  waiting,
}: {
  subscription: SubscriptionView;
  /** How many deliveries wait and why; undefined: none that is known. */
  waiting: string | undefined;
}): JSX.Element {
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
          ['Waiting', waiting],
          ['Receives', waysToReceive[parseDestination(subscriber).kind]],
          ['Counted failures in a row', failing?.failures],
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
          ...authFacts(subscription),
          [
            'Retry policy',
            _retry_policy === undefined ? 'none on this subscription' : 'set on this subscription',
          ],
        ]}
      />
      <PressureNotice of={subscription} />
      {hasOthers ? <SourceText text={JSON.stringify(others, null, 2)} what="the options" /> : null}
    </div>
  );
}

/** Why its requests are slowed, for a reader who does not know the words of the state. */
function PressureNotice({ of: { backPressure } }: { of: SubscriptionView }): JSX.Element | null {
  if (backPressure === undefined) return null;
  const { title, detail } = pressureWords(backPressure);
  return (
    <Notice tone="warning" title={title}>
      <p>{detail}</p>
    </Notice>
  );
}

function authFacts({ options, certificateExpiresAt }: SubscriptionView): [string, ComponentChildren][] {
  return [
    ['Authentication', options.auth && authText(options.auth)],
    ['Certificate expires', certificateExpiresAt && <Moment at={certificateExpiresAt} />],
  ];
}

const waysToReceive: Record<Destination['kind'], string | undefined> = {
  webhook: undefined,
  pull: 'by pull',
};
