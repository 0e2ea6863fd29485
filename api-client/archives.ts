import { RESTORABLE_UNTIL } from '../shared/wire/views/archive.ts';
import { type ApiClient, buildRequest, type Given } from './api-client.ts';
import { deleteQueue, unsubscribe } from './operations.ts';

/** Deletes a queue. Returns until when it can be restored; undefined: it cannot. */
export async function deleteQueueFor(
  api: ApiClient,
  given: Given<typeof deleteQueue.route>,
): Promise<string | undefined> {
  const { headers } = await api.send(buildRequest(deleteQueue, given));
  return headers.get(RESTORABLE_UNTIL) ?? undefined;
}

/** The same for a subscription. */
export async function unsubscribeFor(
  api: ApiClient,
  given: Given<typeof unsubscribe.route>,
): Promise<string | undefined> {
  const { headers } = await api.send(buildRequest(unsubscribe, given));
  return headers.get(RESTORABLE_UNTIL) ?? undefined;
}
