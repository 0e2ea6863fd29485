import { sendOwedConfirmation } from '../../functions/api/subscriptions/ask-confirmation.ts';
import { confirm, setConfirmed } from '../../functions/api/subscriptions/confirm.ts';
import { isPresent, owesConfirmationRequest } from '../../shared/domain/subscription/subscription.ts';
import { QUEUE, START, type PlannedSubscription } from './scenario.ts';
import type { ApiContext, SimulatedApi } from './simulated-api.ts';
import type { SimulatedWorld } from './simulated-world.ts';

const PUBLIC_URL = 'https://api.test';

/**
 * Sends a subscriber its pending confirmation request.
 * @throws if it is still pending afterwards
 */
export async function requestConfirmation(context: ApiContext, subscriptionId: string): Promise<void> {
  const current = await context.registry.findSubscription(QUEUE, subscriptionId);
  if (!isPresent(current, context.clock.now())) return;
  const asked = await sendOwedConfirmation(context, current, PUBLIC_URL);
  if (owesConfirmationRequest(asked)) throw new Error(`${subscriptionId} received no confirmation request`);
}

/** Plans the confirmations by subscribers, through their links, and by operators. */
export function planConfirmations(world: SimulatedWorld, api: SimulatedApi): void {
  const { time, receivers, scenario } = world;
  const planned = new Map(scenario.subscriptions.map((one) => [one.id, one]));
  receivers.onConfirmationRequest((id, token) => {
    const confirmation = planned.get(id)?.confirmation;
    if (confirmation?.by !== 'subscriber') return;
    time.at(time.now() + confirmation.afterMs, () => {
      api.retryUntilAnswered(`confirm ${id}`, (context) => confirm(context, nameOf(id), token));
    });
  });
  for (const one of scenario.subscriptions) planConfirmation(world, api, one);
}

function planConfirmation(
  { time }: SimulatedWorld,
  api: SimulatedApi,
  { id, at, confirmation }: PlannedSubscription,
): void {
  if (confirmation === undefined) return;
  // A subscription that exists at the start has not been sent its confirmation request yet.
  if (at < 0)
    time.at(START, () => {
      api.retryUntilAnswered(`ask ${id}`, (context) => requestConfirmation(context, id));
    });
  if (confirmation.by === 'operator')
    time.at(START + Math.max(0, at) + confirmation.afterMs, () => {
      api.retryUntilAnswered(`confirm ${id} manually`, (context) => setConfirmed(context, nameOf(id), true));
    });
}

const nameOf = (subscriptionId: string) => ({ queue: QUEUE, subscriptionId });
