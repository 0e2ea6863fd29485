import * as z from 'zod';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import {
  confirmationSchema,
  changedSubscriptionSchema,
  subscriptionViewSchema,
  type SubscriptionView,
} from '../../shared/wire/views/subscription.ts';
import { ApiRefusal } from './api-refusal.ts';
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

export function listSubscriptions(
  api: ApiClient,
  queue: string,
  most?: number,
): AsyncGenerator<SubscriptionView> {
  return listing(api, {
    path: apiPath`/v2/queues/${queue}/subscriptions`,
    schema: pageSchema,
    ...(most === undefined ? {} : { most }),
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
  order: { secret?: string; type?: string; graceSeconds?: number },
): Promise<RotatedSecret> {
  return api.call(
    {
      method: 'POST',
      path: apiPath`/v2/queues/${queue}/subscriptions/${id}/secret/rotate`,
      body: JSON.stringify(order),
    },
    rotatedSchema,
  );
}

const testedSchema = z.object({ delivery: deliveryViewSchema }).transform(({ delivery }) => delivery);

/** `body` is JSON source text. */
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
  return attempted(api, tested);
}

/** As long as most attempts take. */
const LOOKS = 20;
const PAUSE_MS = 1_000;

/** The API waits for three seconds; then it is for us to look. */
async function attempted(api: ApiClient, tested: DeliveryView): Promise<DeliveryView> {
  let delivery = tested;
  for (let look = 0; look < LOOKS && isUntried(delivery); look += 1) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    delivery = await showDelivery(api, delivery).catch((error: unknown) => {
      // Not on record before its first attempt.
      if (error instanceof ApiRefusal && error.status === 404) return delivery;
      throw error;
    });
  }
  return delivery;
}

function isUntried({ status, attempts }: DeliveryView): boolean {
  return status === 'pending' && attempts.length === 0;
}

/** Its subscriptions as JSON lines, a part of them at a time. */
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

/** `<href>; rel="next"` (RFC 8288). */
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
 * Can be repeated: what is there already is left as it is, or with `replace` has become so. Where an answer is lost, so are the secrets
 * in it: a repeat has none for what the lost request imported.
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
