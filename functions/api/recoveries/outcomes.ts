import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import {
  outcomesOf,
  sumOfOutcomes,
  type RecoveryOutcomes,
} from '../../../shared/domain/recovery/outcomes.ts';
import type { Recovery } from '../../../shared/domain/recovery/recovery.ts';
import type { DeliveryRecords } from '../../../shared/ports/deliveries.ts';
import { recoveryOutcomesViewSchema, recoveryOutcomesView } from '../../../shared/wire/views/recovery.ts';
import type { ApiDependencies, ApiPorts } from '../dependencies.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { parseWith } from '../request-json.ts';
import { type AddRoute, json } from '../route.ts';
import { existingRecovery, recoveriesPath } from './routes.ts';

export function addRecoveryOutcomesRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/:queue/recoveries/:recovery/outcomes',
      id: 'readRecoveryOutcomes',
      tag: 'recoveries',
      summary: 'Counts, per subscription, what became of the deliveries that a recovery reopened',
      description:
        'Counted from the records of the deliveries, in their present state. Many deliveries are split into pages: ' +
        'follow `links` and add up the counts of each subscription. `known` is false for a recovery of an earlier ' +
        'version of Posthaste, which did not store its deliveries. Records that cannot be read are not counted.',
      query: outcomesQuery,
      answers: { 200: json('The counts, or one page of them.', outcomesAnswerSchema) },
      refuses: [400, 404],
    },
    async (context) => {
      const { marker } = parseWith(outcomesQuery, context.req.query());
      const recovery = await existingRecovery(dependencies, context.req.param());
      const { outcomes, unreadable, ...rest } = await readOutcomes(dependencies, recovery, marker);
      for (const { key, error } of unreadable)
        dependencies.reportFault(error, {
          ...context.env.caller,
          queue: key.queue,
          messageId: key.messageId,
          subscriptionId: key.subscriptionId,
        });
      const path = `${recoveriesPath(recovery.selection.queue)}/${recovery.id}/outcomes`;
      const answer: z.input<typeof outcomesAnswerSchema> = {
        known: recovery.pages !== undefined,
        subscriptions: outcomes.map(recoveryOutcomesView),
        links: nextLinks(path, rest, {}),
      };
      return context.json(answer);
    },
  );
}

const outcomesQuery = z.strictObject({ marker: pageFields.marker });

const outcomesAnswerSchema = z.object({
  known: z.boolean(),
  subscriptions: z.array(recoveryOutcomesViewSchema),
  links: linksSchema,
});

type OutcomesContext = Pick<ApiPorts, 'recoveries' | 'deliveryListings'>;

type Outcomes = { outcomes: readonly RecoveryOutcomes[] } & Pick<DeliveryRecords, 'unreadable'>;

/** Pages of a recovery that are read in parallel, each with one request for up to 50 records. */
const PAGES = 10;

/** Times that so many pages are read by a request, which must not hold the function. */
const MAX_READS = 2;

/**
 * The present state of the deliveries that a recovery reopened. Of many, it returns the counts of a part and a
 * `marker` for the next part; the parts add up. `unreadable`: records that are in no count.
 * @throws InvalidMarkerError
 */
async function readOutcomes(
  context: OutcomesContext,
  { id, selection }: Recovery,
  from: string | undefined,
): Promise<Outcomes & { marker: string | undefined }> {
  const { recoveries } = context;
  let outcomes: readonly RecoveryOutcomes[] = [];
  const unreadable: DeliveryRecords['unreadable'][number][] = [];
  let marker = from;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await recoveries.keptPages(selection.queue, id, { limit: PAGES, marker });
    const read = await Promise.all(page.items.map(({ keys }) => readPage(context, id, keys)));
    outcomes = sumOfOutcomes([...outcomes, ...read.flatMap((part) => part.outcomes)]);
    unreadable.push(...read.flatMap((part) => part.unreadable));
    ({ marker } = page);
    if (marker === undefined) break;
  }
  return { outcomes, unreadable, marker };
}

async function readPage(
  { deliveryListings }: OutcomesContext,
  recoveryId: string,
  keys: readonly DeliveryKey[],
): Promise<Outcomes> {
  const { deliveries, unreadable } = await deliveryListings.records(keys);
  return { outcomes: outcomesOf(recoveryId, deliveries), unreadable };
}
