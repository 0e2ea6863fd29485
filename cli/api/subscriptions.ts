import * as z from 'zod';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  confirmationSchema,
  changedSubscriptionSchema,
  subscriptionViewSchema,
  type SubscriptionView,
} from '../../shared/wire/views/subscription.ts';
import { isNotFound } from './api-refusal.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { showDelivery } from './deliveries.ts';
import { linksSchema, listing, markerIn } from './listing.ts';

const pageSchema = z
  .object({ subscriptions: z.array(subscriptionViewSchema), links: linksSchema })
  .transform(({ subscriptions, links }) => ({ items: subscriptions, links }));

const createdSchema = z.object({
  subscription_id: z.string(),
  secret: z.string().exactOptional(),
  confirmation: confirmationSchema.exactOptional(),
});

export type CreatedSubscription = z.infer<typeof createdSchema>;

/** `match`: only those whose id starts with this text, or whose name or URL contains it. */
export function listSubscriptions(
  api: ApiClient,
  queue: string,
  { most, match }: { most?: number | undefined; match?: string | undefined } = {},
): AsyncGenerator<SubscriptionView, boolean> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/subscriptions`,
    query: { match },
    schema: pageSchema,
    most,
  });
}

export function showSubscription(api: ApiClient, queue: string, id: string): Promise<SubscriptionView> {
  return api.call(
    { method: 'GET', path: apiPath`/v2/queues/${queue}/subscriptions/${id}` },
    subscriptionViewSchema,
  );
}

/** `body` is JSON source text. */
export function createSubscription(
  api: ApiClient,
  queue: string,
  body: string,
): Promise<CreatedSubscription> {
  return api.call({ method: 'POST', path: apiPath`/v2/queues/${queue}/subscriptions`, body }, createdSchema);
}

/** `body` is JSON source text. */
export function updateSubscription(
  api: ApiClient,
  queue: string,
  id: string,
  body: string,
): Promise<z.infer<typeof changedSubscriptionSchema>> {
  return api.call(
    { method: 'PATCH', path: apiPath`/v2/queues/${queue}/subscriptions/${id}`, body },
    changedSubscriptionSchema,
  );
}

export function switchSubscription(
  api: ApiClient,
  queue: string,
  id: string,
  to: 'enable' | 'disable',
): Promise<SubscriptionView> {
  return api.call(
    {
      method: 'POST',
      path: apiPath`/v2/queues/${queue}/subscriptions/${id}/${to}`,
      repeatable: true,
    },
    subscriptionViewSchema,
  );
}

export async function deleteSubscription(api: ApiClient, queue: string, id: string): Promise<void> {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}/subscriptions/${id}` });
}

const rotatedSchema = z.looseObject({
  secret: z.string().exactOptional(),
  publicKey: z.string().exactOptional(),
  previousExpiresAt: z.string().nullable().exactOptional(),
});

export type RotatedSecret = z.infer<typeof rotatedSchema>;

export function rotateSecret(
  api: ApiClient,
  queue: string,
  id: string,
  rotation: { secret?: string; type?: string; graceSeconds?: number },
): Promise<RotatedSecret> {
  return api.call(
    {
      method: 'POST',
      path: apiPath`/v2/queues/${queue}/subscriptions/${id}/secret/rotate`,
      body: JSON.stringify(rotation),
    },
    rotatedSchema,
  );
}

const pullTokenSchema = z.object({ token: z.string(), previousExpiresAt: z.string().exactOptional() });

/** Gives a pull subscription a new token. */
export function newPullToken(
  api: ApiClient,
  queue: string,
  id: string,
  rotation: { graceSeconds?: number },
): Promise<z.infer<typeof pullTokenSchema>> {
  const path = apiPath`/v2/queues/${queue}/subscriptions/${id}/pull-token`;
  return api.call({ method: 'POST', path, body: JSON.stringify(rotation) }, pullTokenSchema);
}

const testedSchema = z.object({ delivery: deliveryViewSchema }).transform(({ delivery }) => delivery);

/**
 * Sends a test message and returns its delivery after the first attempt, if that ends in time. `body` is JSON source
 * text.
 */
export async function testSubscription(
  api: ApiClient,
  queue: string,
  id: string,
  body: string,
): Promise<DeliveryView> {
  const tested = await api.call(
    { method: 'POST', path: apiPath`/v2/queues/${queue}/subscriptions/${id}/test`, body },
    testedSchema,
  );
  return awaitFirstAttempt(api, tested);
}

/** Long enough for most attempts. */
const MAX_POLLS = 20;
const PAUSE_MS = 1_000;

/** Polls until the first attempt is recorded: the API itself waits for three seconds only. */
async function awaitFirstAttempt(api: ApiClient, tested: DeliveryView): Promise<DeliveryView> {
  let delivery = tested;
  for (let look = 0; look < MAX_POLLS && isUntried(delivery); look += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    delivery = await showDelivery(api, delivery).catch((error: unknown) => {
      // A delivery has no record before its first attempt.
      if (isNotFound(error)) return delivery;
      throw error;
    });
  }
  return delivery;
}

/** False for a pull subscription, whose subscriber decides when it is tried. */
function isUntried({ status, attempts, nextAttempt }: DeliveryView): boolean {
  return status === 'pending' && attempts.length === 0 && nextAttempt?.waiting !== 'pull';
}

/** The subscriptions of a queue as JSON lines, one text per page. */
export const exportSubscriptions = async function* (
  api: ApiClient,
  queue: string,
  withCredentials: boolean,
): AsyncGenerator<string> {
  let marker: string | undefined;
  do {
    const { text, headers } = await api.send({
      ...(withCredentials
        ? { method: 'POST', path: apiPath`/v2/credentials/${queue}` }
        : { method: 'GET', path: apiPath`/v2/queues/${queue}/export` }),
      query: { marker },
    });
    yield text;
    marker = markerInHeader(headers.get('link') ?? '');
  } while (marker !== undefined);
};

/** The marker in a Link header of the form `<href>; rel="next"` (RFC 8288). */
function markerInHeader(link: string): string | undefined {
  const href = /<([^>]*)>;\s*rel="next"/.exec(link)?.[1];
  return href === undefined ? undefined : markerIn([{ rel: 'next', href }]);
}

const importedSchema = z.object({
  subscriptions: z.array(
    z.object({
      line: z.int(),
      result: z.enum(['imported', 'replaced', 'unchanged']),
      subscription_id: z.string(),
      secret: z.string().exactOptional(),
      confirmation: confirmationSchema.exactOptional(),
    }),
  ),
  failed: z.array(
    z.object({
      line: z.int(),
      error: z.object({
        code: z.string(),
        message: z.string(),
        fields: z.array(z.object({ field: z.string(), message: z.string() })).exactOptional(),
      }),
    }),
  ),
});

export type Imported = z.infer<typeof importedSchema>;

/**
 * Imports subscriptions from JSON lines; idempotent. If a response is lost, so are its secrets: the repeated request
 * returns none for subscriptions that the first one created.
 */
export function importSubscriptions(
  api: ApiClient,
  queue: string,
  { lines, replace }: { lines: string; replace: boolean },
): Promise<Imported> {
  return api.call(
    {
      method: 'POST',
      path: apiPath`/v2/queues/${queue}/import`,
      query: { replace: replace ? 'true' : undefined },
      body: lines,
      contentType: 'application/jsonl',
      repeatable: true,
    },
    importedSchema,
  );
}
