import type { RedrivenMessage, RedriveOutcome } from '../../shared/domain/delivery/dead-letter.ts';
import type { ApiClient } from '../../api-client/api-client.ts';
import { listSubscriptions } from '../../api-client/operations.ts';
import { isQueue } from '../api/find-subscription.ts';

/** `target`: the queue to check; absent where the message needs no check. */
export type CheckedMessage = { message: RedrivenMessage; target?: string };

/**
 * Sends ingress messages back, except to a queue that is missing or has no subscription: a message that matches no
 * subscription is not kept, and its dead letter would be gone.
 */
export function sendUnlessLost(
  api: () => Promise<ApiClient>,
  send: (messages: readonly RedrivenMessage[]) => Promise<unknown>,
): (checked: readonly CheckedMessage[]) => Promise<RedriveOutcome[]> {
  const faults = new Map<string, Promise<string | undefined>>();
  const faultOf = (queue: string): Promise<string | undefined> => {
    const fault = faults.get(queue) ?? api().then((client) => faultOfTarget(client, queue));
    faults.set(queue, fault);
    return fault;
  };
  return async (checked) => {
    const outcomes = await Promise.all(
      checked.map(async ({ target }): Promise<RedriveOutcome> => {
        const reason = target === undefined ? undefined : await faultOf(target);
        return reason === undefined ? { kind: 'redriven' } : { kind: 'refused', reason };
      }),
    );
    const kept = checked.filter((_, index) => outcomes[index]?.kind === 'redriven');
    if (kept.length > 0) await send(kept.map(({ message }) => message));
    return outcomes;
  };
}

/** Why a message would be lost or return from the queue; undefined if not. */
async function faultOfTarget(api: ApiClient, queue: string): Promise<string | undefined> {
  if (!(await isQueue(api, queue))) return `there is no queue ${queue}`;
  const first = await api.list(listSubscriptions, { path: { queue }, most: 1 }).next();
  return first.done === true ? `queue ${queue} has no subscription` : undefined;
}
