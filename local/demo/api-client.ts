import { z } from 'zod';
import { deliveryViewSchema, type DeliveryView } from '../../shared/wire/views/delivery.ts';

/** The calls of the administration API that the demo makes. */
export type ApiClient = {
  createQueue: (queue: string) => Promise<void>;
  subscribe: (
    queue: string,
    subscription: { name: string; subscriber: string; options: object },
  ) => Promise<{ id: string; secret: string }>;
  /** Undefined until the message is recorded. */
  deliveriesOf: (queue: string, messageId: string) => Promise<DeliveryView[] | undefined>;
};

/** The API refused a request. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly status: number;

  constructor(request: string, status: number, answer: string) {
    super(`${request} was refused with status ${status}: ${answer.slice(0, 500)}`);
    this.status = status;
  }
}

const subscribed = z.object({ subscription_id: z.string(), secret: z.string() });
const deliveries = z.object({ deliveries: z.array(deliveryViewSchema) });

const REQUEST_TIMEOUT_MS = 15_000;

export function apiClient(apiUrl: string, signal: AbortSignal): ApiClient {
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`${apiUrl}${path}`, {
      method,
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new ApiRefusal(`${method} ${path}`, answer.status, text);
    return text === '' ? undefined : JSON.parse(text);
  };

  return {
    createQueue: async (queue) => {
      await call('PUT', `/v2/queues/${queue}`, {});
    },
    subscribe: async (queue, subscription) => {
      const answer = await call('POST', `/v2/queues/${queue}/subscriptions`, subscription);
      const { subscription_id: id, secret } = subscribed.parse(answer);
      return { id, secret };
    },
    deliveriesOf: async (queue, messageId) => {
      try {
        const path = `/v2/queues/${queue}/messages/${encodeURIComponent(messageId)}/deliveries?limit=100`;
        return deliveries.parse(await call('GET', path)).deliveries;
      } catch (error) {
        if (error instanceof ApiRefusal && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}
