import * as z from 'zod';
import { sumOfOutcomes, type RecoveryOutcomes } from '../../shared/domain/recovery/outcomes.ts';
import { recoveryOutcomesOf, recoveryOutcomesSchema } from '../../shared/wire/views/recovery-outcomes.ts';
import { recoveryViewSchema, type RecoveryView } from '../../shared/wire/views/recovery.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, listing, markerIn } from './listing.ts';

const pageSchema = z
  .object({ recoveries: z.array(recoveryViewSchema), links: linksSchema })
  .transform(({ recoveries, links }) => ({ items: recoveries, links }));

export type RecoveryRequest = {
  since: string;
  until: string;
  subscription?: string | undefined;
  status?: string | undefined;
};

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
export function listRecoveries(
  api: ApiClient,
  queue: string,
  most?: number,
): AsyncGenerator<RecoveryView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/recoveries`,
    schema: pageSchema,
    most,
  });
}

export function showRecovery(
  api: ApiClient,
  queue: string,
  id: string,
  signal?: AbortSignal,
): Promise<RecoveryView> {
  return api.call(
    { method: 'GET', path: apiPath`/v2/queues/${queue}/recoveries/${id}`, signal },
    recoveryViewSchema,
  );
}

const outcomesPageSchema = z.object({
  known: z.boolean(),
  subscriptions: z.array(recoveryOutcomesSchema.transform(recoveryOutcomesOf)),
  links: linksSchema,
});

/** What became of the deliveries that a recovery reopened. Undefined: an earlier version did not record them. */
export async function readOutcomes(
  api: ApiClient,
  { queue, id }: Pick<RecoveryView, 'queue' | 'id'>,
  signal?: AbortSignal,
): Promise<RecoveryOutcomes[] | undefined> {
  const path = apiPath`/v2/queues/${queue}/recoveries/${id}/outcomes`;
  const outcomes: RecoveryOutcomes[] = [];
  let marker: string | undefined;
  do {
    const request = { path, query: { marker }, signal };
    const page = await api.call({ method: 'GET', ...request }, outcomesPageSchema);
    if (!page.known) return undefined;
    outcomes.push(...page.subscriptions);
    marker = markerIn(page.links);
  } while (marker !== undefined);
  return sumOfOutcomes(outcomes);
}

export async function stopRecovery(api: ApiClient, queue: string, id: string): Promise<void> {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}/recoveries/${id}` });
}
