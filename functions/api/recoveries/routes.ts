import * as z from 'zod';
import { contended, withRetriedWrites } from '../../../shared/domain/contention.ts';
import { pickIds } from '../../../shared/domain/delivery/delivery.ts';
import { CLOCKS_DIFFER_MS } from '../../../shared/domain/delivery/recreated-queue.ts';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import {
  countOutcomes,
  type RecoveryOutcomes,
  sumOfOutcomes,
} from '../../../shared/domain/recovery/outcomes.ts';
import {
  buildRecoveryId,
  newRecovery,
  nextVersion,
  type Recovery,
  RECOVERY_TIMES,
  type RecoverySelection,
  type RecoveryTime,
} from '../../../shared/domain/recovery/recovery.ts';
import { queueMember } from '../../../shared/domain/subscription/queue-metadata.ts';
import type { DeliveryRecords } from '../../../shared/ports/deliveries.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { type BodyRetention, bodyRetentionMs } from '../../../shared/steps/retention.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import {
  recoveryOutcomesView,
  recoveryOutcomesViewSchema,
  recoveryView,
  recoveryViewSchema,
} from '../../../shared/wire/views/recovery.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound } from '../errors.ts';
import { existingQueue, existingSubscription, presentQueue } from '../existing.ts';
import { timeField, windowed } from '../fields.ts';
import { linksSchema, listing, nextLinks, pageFields, pageQuery } from '../paging.ts';
import { queuePath, subscriptionIdField } from '../paths.ts';
import { type AddRoute, json, jsonAnswer, jsonBody, noBody, withLinks, withLocation } from '../route.ts';

const RECOVERIES = '/v2/queues/{queue}/recoveries';
const RECOVERY = `${RECOVERIES}/{recovery}` as const;

const recoveryRequestSchema = windowed(
  z.strictObject({
    since: timeField.describe('Start of the window, inclusive.'),
    until: timeField.describe('End of the window, exclusive. A time in the future means now.'),
    by: z
      .enum(RECOVERY_TIMES, `must be one of ${RECOVERY_TIMES.join(', ')}`)
      .describe(
        'What the window is of: the acceptance of messages (the default), or the failure, the time at which a delivery ended.',
      )
      .exactOptional(),
    subscription: subscriptionIdField
      .describe('Recovers only deliveries to this subscription.')
      .exactOptional(),
    status: z
      .enum(RECOVERABLE_STATUSES, `must be one of ${RECOVERABLE_STATUSES.join(', ')}`)
      .describe('Recovers only deliveries with this status.')
      .exactOptional(),
  }),
);

const recoveryList = listing('recoveries', recoveryViewSchema);

export function addRecoveryRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { recoveries, audit } = dependencies;

  addRoute({
    key: `POST ${RECOVERIES}`,
    id: 'startRecovery',
    summary: 'Starts a recovery: replays each failed delivery of a window once',
    body: jsonBody(recoveryRequestSchema),
    answers: {
      202: withLinks(
        ['getRecovery', 'readRecoveryOutcomes', 'stopRecovery'],
        { recovery: '$response.body#/id' },
        withLocation(json('The recovery. It runs in the background.', recoveryViewSchema)),
      ),
    },
    refuses: [400, 404, 413],
    handle: async ({ params: { queue }, body: { subscription: subscriptionId, ...asked }, caller }) => {
      const selection = { queue, ...asked, ...(subscriptionId !== undefined && { subscriptionId }) };
      const view = recoveryView(await startRecovery(dependencies, selection));
      const { id, since, until, by, subscription, status } = view;
      const selected = { since, until, by, subscription, status };
      audit(caller, { change: 'recovery_started', queue, recoveryId: id, selection: selected });
      return jsonAnswer(view, 202, { location: `${queuePath(queue)}/recoveries/${id}` });
    },
  });

  addRoute({
    key: `GET ${RECOVERIES}`,
    id: 'listRecoveries',
    summary: 'Lists recoveries, newest first',
    query: pageQuery,
    answers: { 200: json('A page of recoveries.', recoveryList.schema) },
    handle: async ({ path, params, query, tenant }) => {
      const queue = await existingQueue(dependencies, params.queue);
      const page = await recoveries.list(queue, query);
      // For a tenant, older ones are of an earlier queue of the name, perhaps of another customer.
      const since = tenant?.queueCreatedAt ?? 0;
      const shown = page.items.filter(({ createdAt }) => createdAt >= since);
      const { marker } = shown.length === page.items.length ? page : {};
      const items = shown.map(recoveryView);
      return recoveryList.answer(path, { items, ...(marker && { marker }) }, { limit: query.limit });
    },
  });

  addRoute({
    key: `GET ${RECOVERY}`,
    id: 'getRecovery',
    summary: 'Shows the progress of a recovery',
    answers: { 200: json('The recovery.', recoveryViewSchema) },
    handle: async ({ params }) => jsonAnswer(recoveryView(await existingRecovery(dependencies, params))),
  });

  addRoute({
    key: `DELETE ${RECOVERY}`,
    id: 'stopRecovery',
    summary: 'Stops a recovery; deliveries that it has already replayed continue',
    answers: { 204: noBody('The recovery is stopped, or had already ended.') },
    handle: async ({ params, caller }) => {
      const recovery = await existingRecovery(dependencies, params);
      const { id: recoveryId, selection } = recovery;
      if ((await stopRecovery(dependencies, recovery)) === 'stopped')
        audit(caller, { change: 'recovery_stopped', queue: selection.queue, recoveryId });
      return { status: 204 };
    },
  });

  addRoute({
    key: `GET ${RECOVERY}/outcomes`,
    id: 'readRecoveryOutcomes',
    summary: 'Counts, per subscription, what became of the deliveries that a recovery reopened',
    description:
      'Counted from the records of the deliveries, in their present state. Many deliveries are split into pages: ' +
      'follow `links` and add up the counts of each subscription. `known` is false for a recovery of an earlier ' +
      'version of Posthaste, which did not store its deliveries. Records that cannot be read are not counted.',
    query: outcomesQuery,
    answers: { 200: json('The counts, or one page of them.', outcomesAnswerSchema) },
    handle: async ({ path, params, query: { marker }, caller }) => {
      const recovery = await existingRecovery(dependencies, params);
      const { outcomes, unreadable, ...rest } = await readOutcomes(dependencies, recovery, marker);
      for (const { key, error } of unreadable)
        dependencies.reportFault(error, { ...caller, ...pickIds(key) });
      return jsonAnswer({
        known: recovery.pages !== undefined,
        subscriptions: outcomes.map(recoveryOutcomesView),
        links: nextLinks(path, rest, {}),
      } satisfies z.input<typeof outcomesAnswerSchema>);
    },
  });
}

/** The recovery of a path. @throws RefusedRequest `not_found` */
async function existingRecovery(
  { recoveries }: Pick<ApiDependencies, 'recoveries'>,
  { queue, recovery: id }: { queue: string; recovery: string },
): Promise<Recovery> {
  const isId = /^[A-Za-z0-9_-]{1,80}$/.test(id);
  const found = isId ? await recoveries.find(queue, id) : undefined;
  if (found === undefined) throw notFound('such recovery');
  return found;
}

/** A selection before the records are known that it covers. */
type AskedSelection = Omit<RecoverySelection, 'acceptedSince'> & { by?: RecoveryTime };

const outcomesQuery = z.strictObject({ marker: pageFields.marker });

const outcomesAnswerSchema = z.object({
  known: z.boolean(),
  subscriptions: z.array(recoveryOutcomesViewSchema),
  links: linksSchema,
});

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
  { recoveries, deliveryListings }: ApiDependencies,
  { id, selection }: Recovery,
  from: string | undefined,
) {
  let outcomes: readonly RecoveryOutcomes[] = [];
  const unreadable: DeliveryRecords['unreadable'][number][] = [];
  let marker = from;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await recoveries.keptPages(selection.queue, id, { limit: PAGES, marker });
    const read = await Promise.all(page.items.map(({ keys }) => deliveryListings.records(keys)));
    outcomes = sumOfOutcomes([...outcomes, ...read.flatMap((part) => countOutcomes(id, part.deliveries))]);
    unreadable.push(...read.flatMap((part) => part.unreadable));
    ({ marker } = page);
    if (marker === undefined) break;
  }
  return { outcomes, unreadable, marker };
}

/** When operate begins, the eventually consistent listings have the latest failures, and the record is written. */
const BEGIN_AFTER_SECONDS = 3;

/**
 * Starts a recovery of the deliveries that have failed so far. Sends the operation before it writes the record, because
 * operate drops an operation without a record; in the reverse order, a crash would leave a recovery that never ends.
 * @throws RefusedRequest, or when the recovery could not be started; then nothing is replayed
 */
export async function startRecovery(
  context: Pick<ApiDependencies, 'recoveries' | 'operations' | 'clock' | 'newId'> & {
    registry: Pick<Registry, 'findQueue' | 'findSubscription'>;
    settings: BodyRetention;
  },
  { by, ...asked }: AskedSelection,
): Promise<Recovery> {
  const { registry, recoveries, operations, clock, newId, settings } = context;
  const now = clock.now();
  const { queue, since, subscriptionId } = asked;
  const until = Math.min(asked.until, now);
  if (since >= until) throw invalidFields([{ field: 'since', message: 'is in the future' }]);
  const found = await presentQueue({ registry }, queue);
  // Of a deleted one it would skip every delivery.
  if (subscriptionId !== undefined)
    await existingSubscription({ registry }, { queue, subscriptionId }, { deleted: false });
  const retained = { retentionDays: queueMember('_retention_days', found.metadata) };
  const oldest = now - bodyRetentionMs(settings, retained);
  if (since < oldest) {
    const message = `must not be before ${timeText(oldest)}: older records may have expired`;
    throw invalidFields([{ field: 'since', message }]);
  }
  // What was accepted before, was so by an earlier queue of the name. A window before it has nothing to recover.
  const begin = Math.min(found.createdAt - CLOCKS_DIFFER_MS, until - 1);
  const accepted =
    by === 'failure' ? { acceptedSince: Math.max(oldest, begin) } : { since: Math.max(since, begin) };
  const selection = { ...asked, until, ...accepted };
  const at = { now, retentionMs: settings.retentionMs };
  const recovery = newRecovery(buildRecoveryId(now, newId()), selection, at);
  const operation = { kind: 'recovery', queue, recoveryId: recovery.id, orderedAt: now } as const;
  await operations.send(operation, BEGIN_AFTER_SECONDS);
  await recoveries.create(recovery);
  return recovery;
}

/** operate writes the record once for each page. */
const MAX_TRIES = { tries: 10 };

/**
 * Stops a recovery after its current page. `over`: it had already ended.
 * @throws ContendedError, RefusedRequest
 */
async function stopRecovery(
  { recoveries, clock, settings }: ApiDependencies,
  recovery: Recovery,
): Promise<'stopped' | 'over'> {
  let current: Recovery | undefined = recovery;
  const stop = async (): Promise<'stopped' | 'over' | 'again'> => {
    if (current === undefined) throw notFound('such recovery');
    if (current.state !== 'running') return 'over';
    const at = { now: clock.now(), retentionMs: settings.retentionMs };
    const saving = await recoveries.save(nextVersion({ ...current, state: 'stopped' }, at));
    if (saving.kind === 'saved') return 'stopped';
    current = saving.current;
    return 'again';
  };
  return withRetriedWrites(stop, contended(`recovery ${recovery.selection.queue}/${recovery.id}`), MAX_TRIES);
}
