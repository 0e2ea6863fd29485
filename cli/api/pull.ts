import * as z from 'zod';
import { type ApiClient, apiPath } from './api-request.ts';

export const receivedSchema = z
  .object({
    deliveries: z.array(
      z.object({
        receipt: z.string(),
        messageId: z.string(),
        attempt: z.number(),
        headers: z.record(z.string(), z.string()),
        body: z.string(),
      }),
    ),
  })
  .transform(({ deliveries }) => deliveries);

/** A delivery that was received by pull. `headers` and the UTF-8 bytes of `body`: of the signed webhook request. */
export type ReceivedDelivery = z.infer<typeof receivedSchema>[number];

/** The routes of one pull subscription. All methods throw as `ApiClient.send`. */
export type PullRoutes = {
  /** `signal` ends the request: what it leases is then lost until the end of the lease. */
  receive: (limits: {
    max: number;
    leaseSeconds: number;
    signal: AbortSignal;
  }) => Promise<ReceivedDelivery[]>;
  ack: (receipt: string) => Promise<void>;
  /** `error`: of at most 256 characters, none of them a control character. */
  nack: (receipt: string, error: string) => Promise<void>;
};

type Name = { queue: string; id: string };

/** For an operator of the deployment. */
export function operatedPull(api: ApiClient, { queue, id }: Name): PullRoutes {
  return routesAt(api, apiPath`/v2/queues/${queue}/subscriptions/${id}`);
}

/** For a holder of the subscription's token. */
export function pullByToken(api: ApiClient, { queue, id }: Name): PullRoutes {
  return routesAt(api, apiPath`/v2/pull/${queue}/${id}`);
}

function routesAt(api: ApiClient, base: string): PullRoutes {
  // An answer that is repeated counts once.
  const answer = async (path: string, body: object): Promise<void> => {
    await api.send({ method: 'POST', path: base + path, body: JSON.stringify(body), repeatable: true });
  };
  return {
    receive: ({ max, leaseSeconds, signal }) => {
      const body = JSON.stringify({ max, lease_seconds: leaseSeconds });
      return api.call({ method: 'POST', path: `${base}/receive`, body, signal }, receivedSchema);
    },
    ack: (receipt) => answer('/ack', { receipt }),
    nack: (receipt, error) => answer('/nack', { receipt, error }),
  };
}
