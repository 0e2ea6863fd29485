import { waitingText } from '../../../api-client/waiting.ts';
import { usePage } from '../../../console/src/live/page-context.tsx';
import { useLive } from '../../../console/src/live/use-live.ts';
import { momentText } from '../../../console/src/parts/time-text.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { usePortal } from '../portal-context.tsx';

/** How many deliveries wait. Without a pause only those who see deliveries see it. */
export function Waiting({ endpoint: { id, paused } }: { endpoint: SubscriptionView }) {
  const { api } = usePage();
  const { queue, can } = usePortal();
  const isKnown = paused !== undefined || can('deliveries');
  const waiting = useLive(`waiting/${id}/${JSON.stringify(paused)}`, async (signal) => {
    const asked = { paused, formatTime: momentText };
    if (!isKnown) return null;
    return (await waitingText(api, { queue, subscription: id }, asked, signal)) ?? 'none';
  });
  return <>{isKnown ? waiting.value : 'not shown'}</>;
}
