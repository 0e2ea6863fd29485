import { REQUESTS_END_WITHIN_SECONDS, RESTORABLE_UNTIL } from '../shared/wire/views/archive.ts';
import { type ApiClient, buildRequest, type Given } from './api-client.ts';
import { deleteQueue, unsubscribe } from './operations.ts';

/** `restorableUntil`: absent if it cannot be undone. `requestsEndWithinSeconds`: absent from earlier deployments. */
export type Deletion = { restorableUntil?: string; requestsEndWithinSeconds?: number };

function readDeletion({ headers }: { headers: Headers }): Deletion {
  const [restorableUntil, seconds] = [
    headers.get(RESTORABLE_UNTIL),
    headers.get(REQUESTS_END_WITHIN_SECONDS),
  ];
  return {
    ...(restorableUntil !== null && { restorableUntil }),
    ...(seconds !== null && { requestsEndWithinSeconds: Number(seconds) }),
  };
}

/** Deletes a queue. */
export async function deleteQueueFor(
  api: ApiClient,
  given: Given<typeof deleteQueue.route>,
): Promise<Deletion> {
  return readDeletion(await api.send(buildRequest(deleteQueue, given)));
}

/** The same for a subscription. */
export async function unsubscribeFor(
  api: ApiClient,
  given: Given<typeof unsubscribe.route>,
): Promise<Deletion> {
  return readDeletion(await api.send(buildRequest(unsubscribe, given)));
}
