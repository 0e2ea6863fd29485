import { useState } from 'preact/hooks';
import { listRecoveries, startRecovery } from '../../../api-client/operations.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { useAction } from '../../../console/src/live/hooks.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLiveItems } from '../../../console/src/live/use-live.ts';
import { Form } from '../../../console/src/parts/form.tsx';
import { Section } from '../../../console/src/parts/page-heading.tsx';
import { RecoveryResult } from '../../../console/src/parts/recovery-result.tsx';
import { subscriberText } from '../../../console/src/parts/subscription-text.tsx';
import { beginOfFailure, TimeField } from '../../../console/src/parts/windows.tsx';
import { usePortal } from '../portal-context.tsx';

/** Recovers the failed deliveries of an endpoint since a time, and shows the progress of the newest recovery. */
export function RecoverySection({ endpoint }: { endpoint: SubscriptionView }) {
  const { api } = usePage();
  const { queue } = usePortal();
  const [since, setSince] = useState<number | undefined>(
    () => beginOfFailure(endpoint) ?? Date.now() - DAY_MS,
  );
  const recoveries = useLiveItems(listRecoveries, { path: { queue }, most: 20 });
  const { action, run } = useAction(async () => {
    if (since === undefined) return;
    const body = { since: timeText(since), until: timeText(Date.now()), subscription: endpoint.id };
    await api.call(startRecovery, { path: { queue }, body });
    recoveries.refresh();
  });
  const newest = recoveries.value?.items.find(({ subscription }) => subscription === endpoint.id);
  const names = new Map([[endpoint.id, subscriberText(endpoint)]]);
  return (
    <Section title="Recover failed deliveries">
      <Form action={action} ready={since !== undefined} verb="Recover" onSubmit={run}>
        <p>
          Each event accepted since this time whose delivery failed for good is sent again, in the background.
        </p>
        <TimeField label="Accepted since" required time={since} onTime={setSince} />
      </Form>
      {newest === undefined ? null : <RecoveryResult key={newest.id} recovery={newest} names={names} />}
    </Section>
  );
}
