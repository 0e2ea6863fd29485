import type { Context } from 'hono';
import { isPresent, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { Caller } from '../audit.ts';
import type { ApiEnvironment, ApiPorts } from '../dependencies.ts';
import { presentPullSubscription, recordedPullSubscription } from '../existing.ts';
import { subscriptionKey } from '../paths.ts';
import { holders, isOnRecord, principalOf } from './token.ts';

/** For operators, authorised as all other routes. */
const OPERATED = '/v2/queues/:queue/subscriptions/:subscription';

/** For subscribers, authorised by the token of the subscription. API Gateway lets these paths through. */
const BY_TOKEN = '/v2/pull/:queue/:subscription';

export type RouteContext = Context<ApiEnvironment, `/${string}/:queue/${string}/:subscription/${string}`>;

/**
 * Who may use a route, and where it is. `subscriptionOf` returns the subscription that the caller may act for;
 * `answererOf` also one that was deleted or has expired, because the answer to what was received still counts.
 */
export type Access = {
  base: typeof OPERATED | typeof BY_TOKEN;
  /** Begins the operations' names in generated clients. */
  id: 'pull' | 'operatePull';
  authorisation: object | { open: 'pull_token' };
  subscriptionOf: (context: RouteContext) => Promise<Subscription>;
  answererOf: (context: RouteContext) => Promise<Subscription>;
  /** The authorised caller, for the audit trail. */
  callerOf: (context: RouteContext) => Caller;
};

/** How operators and holders of a token reach the routes of pull. */
export function accesses(context: Pick<ApiPorts, 'registry' | 'clock'>): readonly Access[] {
  const holderOf = holders(context);
  return [
    {
      base: OPERATED,
      id: 'operatePull',
      authorisation: {},
      subscriptionOf: async ({ req }) => presentPullSubscription(context, subscriptionKey(req.param())),
      answererOf: async ({ req }) => recordedPullSubscription(context, subscriptionKey(req.param())),
      callerOf: ({ env }) => env.caller,
    },
    {
      base: BY_TOKEN,
      id: 'pull',
      authorisation: { open: 'pull_token' },
      subscriptionOf: ({ req }) => holderOf(req.param(), req.header('authorization'), isPresent),
      answererOf: ({ req }) => holderOf(req.param(), req.header('authorization'), isOnRecord),
      callerOf: ({ env, req }) => ({ ...env.caller, principal: principalOf(req.header('authorization')) }),
    },
  ];
}
