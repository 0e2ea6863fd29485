import type { Hono } from 'hono';
import type { RetryPolicy } from '../../shared/domain/retry-policy.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import type { Ingress } from '../../shared/ports/ingress.ts';
import type { MessageRecords } from '../../shared/ports/message-records.ts';
import type { SubscriptionRegistry } from '../../shared/ports/subscription-registry.ts';
import type { Audit, Caller } from './audit.ts';

/** What the API is made of. */
export type ApiDependencies = {
  registry: SubscriptionRegistry;
  records: MessageRecords;
  deliveries: Deliveries;
  ingress: Ingress;
  clock: Clock;
  /** A fresh id, safe as a subscription's and as a message's. */
  newId: () => string;
  /** Completes a partial policy, so it is checked together with it. */
  defaultRetryPolicy: RetryPolicy;
  /** Why we would never call this URL; undefined where we would. */
  subscriberFault: (url: string) => string | undefined;
  audit: Audit;
  /** Hears of every fault of ours, with the id of the request that met it. */
  reportFault: (fault: Error, caller: Caller) => void;
};

/** Hono's environment: each request comes with its caller. */
export type ApiEnvironment = { Bindings: { caller: Caller } };

export type Api = Hono<ApiEnvironment>;
