import * as z from 'zod';
import { type ApiClient, operation } from '../../../api-client/api-client.ts';

const nothing = z.unknown().transform(() => undefined);
const received = z.object({
  deliveries: z.array(
    z.object({
      receipt: z.string(),
      messageId: z.string(),
      attempt: z.number(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
    }),
  ),
});

/** A delivery that was received by pull. `headers` and the UTF-8 bytes of `body`: of the signed webhook request. */
export type ReceivedDelivery = z.output<typeof received>['deliveries'][number];

/** The operations of a pull subscription, for an operator of the deployment. An answer that is repeated counts once. */
export const operatedPull = {
  receive: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/receive', received),
  ack: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/ack', nothing, { repeatable: true }),
  nack: operation('POST /v2/queues/{queue}/subscriptions/{subscription}/nack', nothing, { repeatable: true }),
};

/** The same, for a holder of the subscription's token. */
export const pullByToken = {
  receive: operation('POST /v2/pull/{queue}/{subscription}/receive', received),
  ack: operation('POST /v2/pull/{queue}/{subscription}/ack', nothing, { repeatable: true }),
  nack: operation('POST /v2/pull/{queue}/{subscription}/nack', nothing, { repeatable: true }),
};

/** The routes of one pull subscription. All methods throw as `call`. */
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

export function pullRoutes(
  api: ApiClient,
  { receive, ack, nack }: typeof operatedPull | typeof pullByToken,
  path: { queue: string; subscription: string },
): PullRoutes {
  return {
    receive: async ({ max, leaseSeconds, signal }) => {
      const body = { max, lease_seconds: leaseSeconds };
      return (await api.call(receive, { path, body, signal })).deliveries;
    },
    ack: (receipt) => api.call(ack, { path, body: { receipt } }),
    nack: (receipt, error) => api.call(nack, { path, body: { receipt, error } }),
  };
}
