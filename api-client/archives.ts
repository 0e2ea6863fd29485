import { REQUESTS_END_WITHIN_SECONDS, RESTORABLE_UNTIL } from '../shared/wire/views/archive.ts';
import { type ApiClient, buildRequest, type Given, type Operation } from './api-client.ts';
import type { deleteQueue, unsubscribe } from './operations.ts';

/** `restorableUntil`: absent if it cannot be undone. `requestsEndWithinSeconds`: absent from earlier deployments. */
export type Deletion = { restorableUntil?: string; requestsEndWithinSeconds?: number };

type DeletingRoute = (typeof deleteQueue | typeof unsubscribe)['route'];

/** Deletes a queue or a subscription. */
export async function deletionBy<Name extends DeletingRoute>(
  api: ApiClient,
  asked: Operation<Name, undefined>,
  given: Given<Name>,
): Promise<Deletion> {
  const { headers } = await api.send(await buildRequest(asked, given));
  const restorableUntil = headers.get(RESTORABLE_UNTIL);
  const seconds = headers.get(REQUESTS_END_WITHIN_SECONDS);
  return {
    ...(restorableUntil !== null && { restorableUntil }),
    ...(seconds !== null && { requestsEndWithinSeconds: Number(seconds) }),
  };
}
