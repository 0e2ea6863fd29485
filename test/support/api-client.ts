import { AwsClient } from 'aws4fetch';
import * as z from 'zod';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';
import { deployment } from './deployment.ts';
import { eventually } from './eventually.ts';

export type Credentials = { accessKeyId: string; secretAccessKey: string };

const root: Credentials = deployment.client.credentials;

/** Calls the API as an IAM principal, signed with Signature Version 4. */
export const callApi = (
  method: string,
  path: string,
  body?: unknown,
  credentials: Credentials = root,
): Promise<Response> =>
  send({ method, path, credentials, ...(body !== undefined && { text: JSON.stringify(body) }) });

type Call = { method: string; path: string; credentials: Credentials; text?: string };

const send = ({ method, path, credentials, text }: Call): Promise<Response> => {
  const { apiUrl, region } = deployment.endpoints;
  const client = new AwsClient({ ...credentials, service: 'execute-api', region, retries: 0 });
  return client.fetch(`${apiUrl}${path}`, {
    method,
    ...(text !== undefined && { body: text, headers: { 'content-type': 'application/json' } }),
  });
};

/**
 * The parsed body of an answer.
 * @throws if the API refuses the call
 */
export const answerOf = async (method: string, path: string, body?: unknown): Promise<unknown> => {
  const response = await callApi(method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};

export const putQueue = (queue: string, policy?: PartialRetryPolicy): Promise<unknown> =>
  answerOf('PUT', `/v2/queues/${queue}`, policy === undefined ? {} : { _retry_policy: policy });

export const deleteSubscription = (queue: string, subscriptionId: string): Promise<unknown> =>
  answerOf('DELETE', `/v2/queues/${queue}/subscriptions/${subscriptionId}`);

/** Subscribes, and returns the subscription's id. */
export const subscribe = async (
  queue: string,
  subscriber: string,
  options: Record<string, unknown> = {},
): Promise<string> => {
  const answer = await answerOf('POST', `/v2/queues/${queue}/subscriptions`, { subscriber, options });
  return z.object({ subscription_id: z.string() }).parse(answer).subscription_id;
};

const IMPORTED_AT_ONCE = 500;

/** Creates many subscriptions by a few import calls. */
export const subscribeAll = async (queue: string, subscribers: readonly string[]): Promise<void> => {
  const path = `/v2/queues/${queue}/import`;
  for (let start = 0; start < subscribers.length; start += IMPORTED_AT_ONCE) {
    const lines = subscribers.slice(start, start + IMPORTED_AT_ONCE);
    const text = lines.map((subscriber) => JSON.stringify({ subscriber })).join('\n');
    const response = await send({ method: 'POST', path, credentials: root, text });
    const answer: unknown = await response.json();
    const { imported } = z.object({ imported: z.number().catch(0) }).parse(answer);
    if (imported !== lines.length) throw new Error(`${path}: ${JSON.stringify(answer)}`);
  }
};

/** The deliveries on record for a message; undefined before it is dispatched. */
export const deliveriesOf = async (queue: string, messageId: string): Promise<DeliveryView[] | undefined> => {
  const found: DeliveryView[] = [];
  let path: string | undefined = `/v2/queues/${queue}/messages/${messageId}/deliveries?limit=100`;
  while (path !== undefined) {
    const response = await callApi('GET', path);
    if (response.status === 404) return undefined;
    const { deliveries, links } = deliveriesPage.parse(await response.json());
    found.push(...deliveries);
    path = links[0]?.href;
  }
  return found;
};

const deliveriesPage = z.object({
  deliveries: z.array(deliveryViewSchema),
  links: z.array(z.object({ href: z.string() })),
});

export const isOver = ({ status }: DeliveryView): boolean => status !== 'pending' && status !== 'retrying';

/** The deliveries of a message once `count` of them have ended. */
export const finishedDeliveries = (
  queue: string,
  messageId: string,
  count: number,
): Promise<DeliveryView[]> =>
  eventually(`${count} finished deliveries of ${messageId}`, async () => {
    const over = (await deliveriesOf(queue, messageId))?.filter(isOver);
    return over?.length === count ? over : undefined;
  });

export const finishedDelivery = async (queue: string, messageId: string): Promise<DeliveryView> => {
  const [delivery] = await finishedDeliveries(queue, messageId, 1);
  if (delivery === undefined) throw new Error(`${messageId} has no delivery`);
  return delivery;
};

type DeliveryIds = Pick<DeliveryView, 'queue' | 'messageId' | 'subscriptionId'>;

export const deliveryPath = ({ queue, messageId, subscriptionId }: DeliveryIds): string =>
  `/v2/queues/${queue}/messages/${messageId}/deliveries/${subscriptionId}`;

/** Retries an ended delivery. The API answers 409 until deliver has completed the pending steps of the end. */
export const retryEnded = ({ queue, messageId, subscriptionId }: DeliveryIds): Promise<number> =>
  eventually(`an accepted retry of ${messageId}`, async () => {
    const { status } = await callApi('POST', `${deliveryPath({ queue, messageId, subscriptionId })}/retry`);
    return status === 202 ? status : undefined;
  });
