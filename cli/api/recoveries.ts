import * as z from 'zod';
import { recoveryViewSchema, type RecoveryView } from '../../shared/wire/views/recovery.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, listing } from './listing.ts';

const pageSchema = z
  .object({ recoveries: z.array(recoveryViewSchema), links: linksSchema })
  .transform(({ recoveries, links }) => ({ items: recoveries, links }));

export type RecoveryRequest = { since: string; until: string; subscription?: string; status?: string };

export function startRecovery(
  api: ApiClient,
  queue: string,
  recovery: RecoveryRequest,
): Promise<RecoveryView> {
  return api.call(
    { method: 'POST', path: apiPath`/v2/queues/${queue}/recoveries`, body: JSON.stringify(recovery) },
    recoveryViewSchema,
  );
}

/** The recoveries of a queue, newest first. */
export function listRecoveries(api: ApiClient, queue: string, most?: number): AsyncGenerator<RecoveryView> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/recoveries`,
    schema: pageSchema,
    ...(most === undefined ? {} : { most }),
  });
}

export function showRecovery(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<RecoveryView> {
  return api.call(
    { method: 'GET', path: apiPath`/v2/queues/${queue}/recoveries/${id}`, ...(signal && { signal }) },
    recoveryViewSchema,
  );
}

export async function stopRecovery(api: ApiClient, queue: string, id: string): Promise<void> {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}/recoveries/${id}` });
}
