import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Listed } from '../../../../api-client/api-client.ts';
import { listRecoveries, listSubscriptions } from '../../../../api-client/operations.ts';
import type { RecoveryView } from '../../../../shared/wire/views/recovery.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Moment } from '../../parts/moment.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Section } from '../../parts/section.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import type { Query } from '../../route.ts';
import { RecoveryResult } from './recovery-result.tsx';
import { PageOfQueue } from '../queue/page-of-queue.tsx';
import { RecoveryForm } from './recovery-form.tsx';
import { RecoveryList } from './recovery-list.tsx';

const MOST = 20;
const MAX_SUBSCRIPTIONS = 100;

/** Starts recoveries of a queue and shows their progress. */
export function RecoveryPage({ queue, query }: { queue: string; query: Query }): JSX.Element {
  const { api } = useConsole();
  const recoveries = useLive(`recoveries/${queue}`, () =>
    api.items(listRecoveries, { path: { queue }, most: MOST }),
  );
  const subscriptions = useLive(`recovery/${queue}`, () =>
    api.items(listSubscriptions, { path: { queue }, most: MAX_SUBSCRIPTIONS }),
  );
  const [chosen, setChosen] = useState<string>();
  const shown = chosenIn(recoveries.value, chosen);
  return (
    <PageOfQueue title="Recovery" queue={queue} live={recoveries}>
      <p>
        Recovers failed deliveries after an outage: each rejected, exhausted or cancelled delivery of a time
        window gets another round of attempts, in the background. A recovery does not include deliveries that
        fail after its start.
      </p>
      <Section title="Start a recovery">
        <RecoveryForm
          queue={queue}
          query={query}
          subscriptions={subscriptions}
          onStarted={() => {
            setChosen(undefined);
            recoveries.refresh();
          }}
        />
      </Section>
      {shown === undefined ? null : (
        <Section title="Result">
          <p>
            Recovery started <Moment at={shown.createdAt} />, {shown.state}
          </p>
          <RecoveryResult key={shown.id} recovery={shown} names={namesIn(subscriptions.value)} />
        </Section>
      )}
      <Section title="Recoveries of this queue">
        <Loaded live={recoveries}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No recoveries yet" />
            ) : (
              <RecoveryList
                queue={queue}
                recoveries={items}
                shown={shown?.id}
                onShow={setChosen}
                onChanged={recoveries.refresh}
              />
            )
          }
        </Loaded>
      </Section>
    </PageOfQueue>
  );
}

/** The newest recovery unless another is chosen. */
function chosenIn(
  recoveries: Listed<RecoveryView> | undefined,
  chosen: string | undefined,
): RecoveryView | undefined {
  return recoveries?.items.find(({ id }) => id === chosen) ?? recoveries?.items[0];
}

/** Names or URLs of subscriptions by id. */
function namesIn(subscriptions: Listed<SubscriptionView> | undefined): ReadonlyMap<string, string> {
  return new Map(subscriptions?.items.map((one) => [one.id, subscriberText(one)]));
}
