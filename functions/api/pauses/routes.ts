import * as z from 'zod';
import type { WaitingPlace } from '../../../shared/domain/delivery/paused.ts';
import { findPauseInForce } from '../../../shared/domain/subscription/pause.ts';
import type { Queue, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import {
  pausableQueueSchema,
  pausedView,
  stoppedQueueSchema,
  stoppedSubscriptionSchema,
  subscriptionView,
  type SubscriptionView,
  subscriptionViewSchema,
  waitingSchema,
} from '../../../shared/wire/views/subscription.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound } from '../errors.ts';
import { presentQueue, presentSubscription } from '../existing.ts';
import { TEN_YEARS_SECONDS, perSecondField, seconds, timeField } from '../fields.ts';
import { subscriptionKey } from '../paths.ts';
import { type AddRoute, type Group, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import { pauseAt, type PauseResult, requestsEndWithinSeconds, resumeAt } from './pause.ts';

const pauseRequest = z.strictObject({
  until: timeField.describe('When the pause ends by itself. By default never.').exactOptional(),
  for_seconds: seconds(1, TEN_YEARS_SECONDS)
    .describe('After how many seconds it ends, in place of `until`.')
    .exactOptional(),
});

const resumeRequest = z.strictObject({
  per_second: perSecondField
    .describe(
      'How many of the waiting deliveries become due a second. By default `max_per_second`, else 100.',
    )
    .exactOptional(),
});

/** The most waiting deliveries that a request counts. */
const MAX_COUNTED = 10_000;

/** The response to what stops the requests of a subscription. */
export const stoppedSubscription = json(
  'The current subscription, and within how many seconds its last request ends.',
  stoppedSubscriptionSchema,
);

/** What can be paused. */
const TARGETS = [
  {
    path: '/v2/queues/{queue}/subscriptions/{subscription}',
    tag: 'subscriptions',
    noun: 'subscription',
    name: 'Subscription',
    pause: 'Pauses a subscription: it gets no requests, and its deliveries wait',
    stopped: stoppedSubscription,
    resume: 'Does not enable it.',
    resumed: json('The current subscription.', subscriptionViewSchema),
    waiting: 'a pause, or to be received by pull',
    notCounted: '',
  },
  {
    path: '/v2/queues/{queue}',
    tag: 'queues',
    noun: 'queue',
    name: 'Queue',
    pause: 'Pauses all subscriptions of a queue: they get no requests, and their deliveries wait',
    stopped: json('The pause, and within how many seconds the last request ends.', stoppedQueueSchema),
    resume: 'Subscriptions that are paused themselves stay paused.',
    resumed: json('The queue, without a pause.', pausableQueueSchema),
    waiting: 'the pause of a queue',
    notCounted: ' Those that wait for a subscription are not among them.',
  },
] as const;

/** The routes that pause and resume subscriptions and queues, and count what waits. */
export function addPauseRoutes(group: Group, dependencies: ApiDependencies): void {
  for (const target of TARGETS) addRoutesFor(target, group(target.tag), dependencies);
}

function addRoutesFor(
  target: (typeof TARGETS)[number],
  addRoute: AddRoute,
  dependencies: ApiDependencies,
): void {
  const { audit, clock } = dependencies;
  const { path, noun, name } = target;

  addRoute({
    key: `POST ${path}/pause`,
    id: `pause${name}`,
    summary: target.pause,
    description:
      'New messages and due retries wait on record, and spend no attempts. The `ttl` of a message goes on counting. What has ' +
      'waited for the retention is cancelled; an event comes a day before.',
    body: optionalJsonBody(pauseRequest),
    answers: { 200: target.stopped },
    handle: async ({ params, body, caller }) => {
      const place = placeIn(params);
      const until = endOfPause(body, clock.now());
      await findPresent(dependencies, place);
      const after = found(await pauseAt(dependencies, place, until), noun);
      const end = until === undefined ? {} : { until: timeText(until) };
      audit(caller, { change: `${noun}_paused`, ...place, ...end });
      return jsonAnswer(await stoppedView(dependencies, after));
    },
  });

  addRoute({
    key: `POST ${path}/resume`,
    id: `resume${name}`,
    summary: `Ends the pause of a ${noun}, and sends what waits in the order of acceptance`,
    description: `${target.resume} A repeat changes the rate at which the rest is sent.`,
    body: optionalJsonBody(resumeRequest),
    answers: { 200: target.resumed },
    handle: async ({ params, body: { per_second: perSecond }, caller }) => {
      const place = placeIn(params);
      const result = await resumeAt(dependencies, place, perSecond);
      const after = found(result, noun);
      if (result.kind === 'changed')
        audit(caller, { change: `${noun}_resumed`, ...place, ...(perSecond && { perSecond }) });
      return jsonAnswer(await viewOf(dependencies, after));
    },
  });

  addRoute({
    key: `GET ${path}/waiting`,
    id: `countWaitingOf${name}`,
    summary: `Counts the deliveries that wait for the end of ${target.waiting}`,
    description: `Looks at ${MAX_COUNTED} waiting deliveries at most.${target.notCounted}`,
    answers: { 200: json('How many wait.', waitingSchema) },
    handle: async ({ params }) => {
      const place = placeIn(params);
      const { paused } = await viewOf(dependencies, await findPresent(dependencies, place));
      const counted = await countWaiting(dependencies, place);
      return jsonAnswer({ ...counted, ...(paused && { paused }) } satisfies z.input<typeof waitingSchema>);
    },
  });
}

function placeIn({ queue, subscription }: { queue: string; subscription?: string }): WaitingPlace {
  return subscription === undefined ? { queue } : subscriptionKey({ queue, subscription });
}

/** @throws RefusedRequest `not_found` */
function findPresent(dependencies: ApiDependencies, { queue, subscriptionId }: WaitingPlace) {
  return subscriptionId === undefined
    ? presentQueue(dependencies, queue)
    : presentSubscription(dependencies, { queue, subscriptionId });
}

/** Milliseconds since the epoch; undefined: it has no end. @throws RefusedRequest */
function endOfPause({ until, for_seconds }: z.output<typeof pauseRequest>, now: number): number | undefined {
  if (until !== undefined && for_seconds !== undefined)
    throw invalidFields([{ field: 'for_seconds', message: 'cannot be given with until' }]);
  if (until !== undefined && until <= now)
    throw invalidFields([{ field: 'until', message: 'must be in the future' }]);
  return for_seconds === undefined ? until : now + for_seconds * 1000;
}

/** @throws RefusedRequest `not_found` */
function found(result: PauseResult, what: string): Queue | Subscription {
  switch (result.kind) {
    case 'changed':
      return result.after;
    case 'left':
      return result.current;
    // The subscriber stays, so another subscription cannot have it.
    case 'conflict':
    case 'missing':
      throw notFound(`such ${what}`);
  }
}

/** A subscription or a queue, and within how many seconds the last request ends. */
export async function stoppedView(dependencies: ApiDependencies, of: Queue | Subscription) {
  const { registry, settings } = dependencies;
  const subscription = 'destination' in of ? of : undefined;
  const queue = 'destination' in of ? await registry.findQueue(of.queue) : of;
  return {
    ...(await viewOf(dependencies, of)),
    requests_end_within_seconds: requestsEndWithinSeconds(settings, { queue, subscription }),
  } satisfies z.input<typeof stoppedSubscriptionSchema | typeof stoppedQueueSchema>;
}

async function viewOf(
  dependencies: ApiDependencies,
  of: Queue | Subscription,
): Promise<SubscriptionView | z.input<typeof pausableQueueSchema>> {
  if ('destination' in of) return viewOfSubscription(dependencies, of);
  const now = dependencies.clock.now();
  return { name: of.name, ...pausedView(findPauseInForce({ queue: of, subscription: undefined }, now)) };
}

/** A subscription of a path as callers see it, with the pause of its queue. */
export async function viewOfSubscription(
  { registry, clock }: Pick<ApiDependencies, 'registry' | 'clock'>,
  subscription: Subscription,
): Promise<SubscriptionView> {
  return subscriptionView(subscription, clock.now(), await registry.findQueue(subscription.queue));
}

/** A subscription has its place, and waits in that of its queue as well. */
async function countWaiting(
  { deliveryListings, deliveries }: ApiDependencies,
  place: WaitingPlace,
): Promise<Omit<z.input<typeof waitingSchema>, 'paused'>> {
  const { queue, subscriptionId } = place;
  const { count, hasMore, oldest } = await deliveryListings.countWaiting(
    subscriptionId === undefined ? [place] : [place, { queue }],
    (one) => subscriptionId === undefined || one.subscriptionId === subscriptionId,
    MAX_COUNTED,
  );
  const record = oldest && (await deliveries.find(oldest.key));
  return {
    count,
    more: hasMore,
    ...(record && { oldest_accepted_at: timeText(record.acceptedAt) }),
  };
}
