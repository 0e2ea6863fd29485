import { waitingText } from '../../../api-client/waiting.ts';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { usePage } from '../live/page-context.tsx';
import { useLive } from '../live/use-live.ts';
import { momentText } from './time-text.ts';

/** How many deliveries to a subscription wait, and why. `seesDeliveries`: without that, only what waits for a pause is known. */
export function Waiting({
  of: { source: queue, id, paused },
  seesDeliveries = true,
}: {
  of: SubscriptionView;
  seesDeliveries?: boolean;
}) {
  const { api } = usePage();
  const isKnown = paused !== undefined || seesDeliveries;
  const waiting = useLive(`waiting/${queue}/${id}/${JSON.stringify(paused)}`, async (signal) => {
    const asked = { paused, formatTime: momentText };
    if (!isKnown) return null;
    return (await waitingText(api, { queue, subscription: id }, asked, signal)) ?? 'none';
  });
  return <>{isKnown ? waiting.value : 'not shown'}</>;
}
