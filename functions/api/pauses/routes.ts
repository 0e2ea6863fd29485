import * as z from 'zod';
import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import type { WaitingPlace } from '../../../shared/domain/delivery/paused.ts';
import { findPauseInForce } from '../../../shared/domain/subscription/pause.ts';
import { MAX_PER_SECOND, MIN_PER_SECOND } from '../../../shared/domain/subscription/rate-limit.ts';
import type { Queue, Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { RegistryChange } from '../../../shared/ports/subscriptions.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import {
  pausedView,
  pausedViewSchema,
  stoppedSubscriptionSchema,
  subscriptionViewSchema,
} from '../../../shared/wire/views/subscription.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound } from '../errors.ts';
import { presentQueue, presentSubscription, viewOfSubscription } from '../existing.ts';
import { MAX_TTL_SECONDS, seconds, timeField } from '../fields.ts';
import { queueName, subscriptionKey } from '../paths.ts';
import { parseWith, readOptionalJson } from '../request-json.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import {
  pauseQueue,
  pauseSubscription,
  requestsEndWithinSeconds,
  resumeQueue,
  resumeSubscription,
} from './pause.ts';

const QUEUE = '/v2/queues/{queue}';
const SUBSCRIPTION = `${QUEUE}/subscriptions/{subscription}` as const;

const pauseRequest = z.strictObject({
  until: timeField.describe('When the pause ends by itself. By default never.').exactOptional(),
  for_seconds: seconds(1, MAX_TTL_SECONDS)
    .describe('After how many seconds it ends, in place of `until`.')
    .exactOptional(),
});

const RATE_RULE = `must be a number from ${MIN_PER_SECOND} to ${MAX_PER_SECOND}`;

const resumeRequest = z.strictObject({
  per_second: z
    .number(RATE_RULE)
    .min(MIN_PER_SECOND, RATE_RULE)
    .max(MAX_PER_SECOND, RATE_RULE)
    .describe(
      'How many of the waiting deliveries become due a second. By default `max_per_second`, else 100.',
    )
    .exactOptional(),
});

const queueSchema = z.object({ name: z.string(), paused: pausedViewSchema.exactOptional() });

const stoppedQueueSchema = queueSchema.extend({
  requests_end_within_seconds: stoppedSubscriptionSchema.shape.requests_end_within_seconds,
});

const waitingSchema = z.object({
  count: z.int().nonnegative(),
  more: z.boolean().describe('Whether more wait than were counted.'),
  oldest_accepted_at: timeView
    .describe('When the message was accepted whose delivery waits longest.')
    .exactOptional(),
  paused: pausedViewSchema.exactOptional(),
});

/** The most waiting deliveries that a request counts. */
const MOST_COUNTED = 10_000;

const WAITING_GOES_ON =
  'New messages and due retries wait on record, and spend no attempts. The `ttl` of a message goes on counting. What has ' +
  'waited for the retention is cancelled; an event comes a day before.';

/** The response to what stops the requests of a subscription. */
export const stoppedSubscription = json(
  'The current subscription, and within how many seconds its last request ends.',
  stoppedSubscriptionSchema,
);

/** The routes that pause and resume subscriptions and queues, and count what waits. */
export function addPauseRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, clock } = dependencies;

  addRoute(
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/pause`,
      id: 'pauseSubscription',
      tag: 'subscriptions',
      summary: 'Pauses a subscription: it gets no requests, and its deliveries wait',
      description: WAITING_GOES_ON,
      body: optionalJsonBody(pauseRequest),
      answers: { 200: stoppedSubscription },
    },
    async (context) => {
      const key = subscriptionKey(context.params);
      const until = endOfPause(readOptionalJson(context.body).value, clock.now());
      await presentSubscription(dependencies, key);
      const after = found(await pauseSubscription(dependencies, key, until), 'subscription');
      audit(context.caller, { change: 'subscription_paused', ...key, ...untilField(until) });
      return jsonAnswer(await stoppedView(dependencies, after));
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${SUBSCRIPTION}/resume`,
      id: 'resumeSubscription',
      tag: 'subscriptions',
      summary: 'Ends the pause of a subscription, and sends what waits in the order of acceptance',
      description: 'Does not enable it. A repeat changes the rate at which the rest is sent.',
      body: optionalJsonBody(resumeRequest),
      answers: { 200: json('The current subscription.', subscriptionViewSchema) },
    },
    async (context) => {
      const key = subscriptionKey(context.params);
      const { per_second: perSecond } = parseWith(resumeRequest, readOptionalJson(context.body).value);
      const result = await resumeSubscription(dependencies, key, perSecond);
      const after = found(result, 'subscription');
      if (result.kind === 'changed')
        audit(context.caller, { change: 'subscription_resumed', ...key, ...(perSecond && { perSecond }) });
      return jsonAnswer(await viewOfSubscription(dependencies, after));
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${QUEUE}/pause`,
      id: 'pauseQueue',
      tag: 'queues',
      summary: 'Pauses all subscriptions of a queue: they get no requests, and their deliveries wait',
      description: WAITING_GOES_ON,
      body: optionalJsonBody(pauseRequest),
      answers: {
        200: json('The pause, and within how many seconds the last request ends.', stoppedQueueSchema),
      },
    },
    async (context) => {
      const { name: queue } = await presentQueue(dependencies, context.params.queue);
      const until = endOfPause(readOptionalJson(context.body).value, clock.now());
      const after = found(await pauseQueue(dependencies, queue, until), 'queue');
      audit(context.caller, { change: 'queue_paused', queue, ...untilField(until) });
      return jsonAnswer({
        ...queueView(after, clock.now()),
        requests_end_within_seconds: requestsEndWithinSeconds(dependencies.settings, { queue: after }),
      } satisfies z.input<typeof stoppedQueueSchema>);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${QUEUE}/resume`,
      id: 'resumeQueue',
      tag: 'queues',
      summary: 'Ends the pause of a queue, and sends what waits in the order of acceptance',
      description:
        'Subscriptions that are paused themselves stay paused. A repeat changes the rate at which the rest is sent.',
      body: optionalJsonBody(resumeRequest),
      answers: { 200: json('The queue, without a pause.', queueSchema) },
    },
    async (context) => {
      const queue = queueName(context.params.queue);
      const { per_second: perSecond } = parseWith(resumeRequest, readOptionalJson(context.body).value);
      const result = await resumeQueue(dependencies, queue, perSecond);
      const after = found(result, 'queue');
      if (result.kind === 'changed')
        audit(context.caller, { change: 'queue_resumed', queue, ...(perSecond && { perSecond }) });
      return jsonAnswer(queueView(after, clock.now()));
    },
  );

  addRoute(
    {
      method: 'GET',
      path: `${SUBSCRIPTION}/waiting`,
      id: 'countWaitingOfSubscription',
      tag: 'subscriptions',
      summary: 'Counts the deliveries that wait for the end of a pause, or to be received by pull',
      description: `Looks at ${MOST_COUNTED} waiting deliveries at most.`,
      answers: { 200: json('How many wait.', waitingSchema) },
    },
    async (context) => {
      const key = subscriptionKey(context.params);
      const subscription = await presentSubscription(dependencies, key);
      const { queue, subscriptionId } = key;
      const counted = await countWaiting(
        dependencies,
        [key, { queue }],
        (one) => one.subscriptionId === subscriptionId,
      );
      const { paused } = await viewOfSubscription(dependencies, subscription);
      return jsonAnswer({ ...counted, ...(paused && { paused }) } satisfies z.input<typeof waitingSchema>);
    },
  );

  addRoute(
    {
      method: 'GET',
      path: `${QUEUE}/waiting`,
      id: 'countWaitingOfQueue',
      tag: 'queues',
      summary: 'Counts the deliveries that wait for the end of the pause of a queue',
      description: `Looks at ${MOST_COUNTED} waiting deliveries at most. Those that wait for a subscription are not among them.`,
      answers: { 200: json('How many wait.', waitingSchema) },
    },
    async (context) => {
      const queue = await presentQueue(dependencies, context.params.queue);
      const counted = await countWaiting(dependencies, [{ queue: queue.name }], () => true);
      const { paused } = queueView(queue, clock.now());
      return jsonAnswer({ ...counted, ...(paused && { paused }) } satisfies z.input<typeof waitingSchema>);
    },
  );
}

/** Milliseconds since the epoch; undefined: it has no end. @throws RefusedRequest */
function endOfPause(body: unknown, now: number): number | undefined {
  const { until, for_seconds } = parseWith(pauseRequest, body);
  if (until !== undefined && for_seconds !== undefined)
    throw invalidFields([{ field: 'for_seconds', message: 'cannot be given with until' }]);
  if (until !== undefined && until <= now)
    throw invalidFields([{ field: 'until', message: 'must be in the future' }]);
  return for_seconds === undefined ? until : now + for_seconds * 1000;
}

function untilField(until: number | undefined): { until?: string } {
  return until === undefined ? {} : { until: timeText(until) };
}

/** @throws RefusedRequest `not_found` */
function found<Of extends Queue | Subscription>(
  result: RegistryChange<Of> | { kind: 'conflict' },
  what: string,
): Of {
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

/** A subscription, and within how many seconds its last request ends. */
export async function stoppedView(
  dependencies: ApiDependencies,
  subscription: Subscription,
): Promise<z.input<typeof stoppedSubscriptionSchema>> {
  const queue = await dependencies.registry.findQueue(subscription.queue);
  return {
    ...(await viewOfSubscription(dependencies, subscription)),
    requests_end_within_seconds: requestsEndWithinSeconds(dependencies.settings, { queue, subscription }),
  };
}

function queueView(queue: Queue, now: number): z.input<typeof queueSchema> {
  return { name: queue.name, ...pausedView(findPauseInForce({ queue, subscription: undefined }, now)) };
}

async function countWaiting(
  { deliveryListings, deliveries }: ApiDependencies,
  places: readonly WaitingPlace[],
  matches: (key: DeliveryKey) => boolean,
): Promise<Omit<z.input<typeof waitingSchema>, 'paused'>> {
  const { count, hasMore, oldest } = await deliveryListings.countWaiting(places, matches, MOST_COUNTED);
  const record = oldest && (await deliveries.find(oldest.key));
  return {
    count,
    more: hasMore,
    ...(record && { oldest_accepted_at: timeText(record.acceptedAt) }),
  };
}
