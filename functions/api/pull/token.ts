import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import { hashToken } from '../../../shared/domain/subscription/confirmation.ts';
import { asPull } from '../../../shared/domain/subscription/destination.ts';
import {
  hasPullTokenForm,
  isPullTokenOf,
  makePullToken,
} from '../../../shared/domain/subscription/pull-token.ts';
import { isPresent, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { timeView } from '../../../shared/wire/fields.ts';
import type { Caller } from '../audit.ts';
import type { ApiDependencies, ApiPorts } from '../dependencies.ts';
import { notFound, RefusedRequest } from '../errors.ts';
import { rotate } from '../subscriptions/rotate.ts';
import { presentSubscription, requirePull } from '../existing.ts';
import { seconds } from '../fields.ts';
import { isSubscriptionId, subscriptionKey } from '../paths.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody, type RequestContext } from '../route.ts';
import {
  DEFAULT_GRACE_SECONDS,
  MAX_GRACE_SECONDS,
} from '../../../shared/domain/subscription/secret-rotation.ts';

const rotationRequest = z.strictObject({
  graceSeconds: seconds(0, MAX_GRACE_SECONDS)
    .describe('Seconds for which the previous token stays valid.')
    .default(DEFAULT_GRACE_SECONDS),
});

const tokenSchema = z.object({
  token: z.string().describe('For the routes under `/v2/pull`, as `authorization: Bearer phpull_…`.'),
  previousExpiresAt: timeView
    .describe('When the previous token stops being valid. Absent if there was none.')
    .exactOptional(),
});

/** The route that gives a subscriber without AWS credentials its token. */
export function addPullTokenRoute(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute({
    key: 'POST /v2/queues/{queue}/subscriptions/{subscription}/pull-token',
    id: 'rotatePullToken',
    summary: 'Gives a pull subscription a token, by which its subscriber receives',
    description:
      'The token is for this subscription only. The previous one is valid for another `graceSeconds`.',
    body: optionalJsonBody(rotationRequest),
    answers: { 200: json('The token. No later response contains it.', tokenSchema) },
    handle: async ({ params, body: { graceSeconds }, caller }) => {
      const key = subscriptionKey(params);
      const found = requirePull(await presentSubscription(dependencies, key));
      const { token, stored } = makePullToken(dependencies.randomBytes);
      const end = await rotate(dependencies, found, {
        what: 'token',
        made: stored,
        graceMs: graceSeconds * 1000,
        heldBy: ({ destination }) => asPull(destination)?.tokens ?? [],
        give: (tokens, current) => {
          const { destination } = requirePull(current);
          return { ...current, destination: { ...destination, tokens } };
        },
      });
      dependencies.audit(caller, { change: 'pull_token_rotated', ...key, ...end });
      return jsonAnswer({ token, ...end } satisfies z.input<typeof tokenSchema>);
    },
  });
}

/** For answers: also a subscription that was deleted or has expired, while its record stays. */
function isOnRecord(found: Subscription | undefined): found is Subscription {
  return found !== undefined;
}

/** Subscriptions that are kept for refusals, and for how long: a stranger's guesses cost one read in this time. */
const KEPT_FOR_REFUSALS = 1_000;
const KEPT_MS = 1_000;

/**
 * Finds the subscription of a path, if the caller has its token and `isOpen` accepts it. The refusal does not tell
 * whether the subscription exists. A holder always gets what is stored now; only a token that was refused is compared
 * with what was read up to a second ago, so a new token may be refused for so long while strangers try.
 * @throws RefusedRequest `unauthorized`
 */
function holders({ registry, clock }: Pick<ApiDependencies, 'registry' | 'clock'>) {
  const refusals = new LRUCache<string, { found: Subscription | undefined }>({
    max: KEPT_FOR_REFUSALS,
    ttl: KEPT_MS,
    perf: clock,
    ttlResolution: 0,
  });

  return async (
    { queue, subscription }: RouteContext['params'],
    authorization: string | undefined,
    isOpen: (found: Subscription | undefined, now: number) => found is Subscription,
  ): Promise<Subscription> => {
    const now = clock.now();
    const token = tokenIn(authorization);
    const isName = isQueueName(queue) && isSubscriptionId(subscription);
    if (token === undefined || !isName) throw unauthorized();
    const isHeld = (found: Subscription | undefined): found is Subscription =>
      isOpen(found, now) && isPullTokenOf(asPull(found.destination)?.tokens ?? [], token, now);
    const name = `${queue}/${subscription}`;
    const refused = refusals.get(name);
    if (refused !== undefined && !isHeld(refused.found)) throw unauthorized();
    const found = await registry.findSubscription(queue, subscription);
    if (isHeld(found)) return found;
    refusals.set(name, { found });
    throw unauthorized();
  };
}

function unauthorized(): RefusedRequest {
  return new RefusedRequest('unauthorized', 'the request has no valid token of this subscription');
}

/** Characters of a token's hash that name its holder in the audit trail. */
const NAMED_BY = 12;

/** The holder of a token that was accepted. The hash does not give the token away. */
function namePrincipal(authorization: string | undefined): string {
  return `pull token ${hashToken(tokenIn(authorization) ?? '').slice(0, NAMED_BY)}`;
}

/** The bearer token of an authorization header, if it can be one of a subscription. */
function tokenIn(authorization = ''): string | undefined {
  const [, token = ''] = /^bearer (\S+)$/i.exec(authorization) ?? [];
  return hasPullTokenForm(token) ? token : undefined;
}

/** For operators, authorised as all other routes. */
const OPERATED = '/v2/queues/{queue}/subscriptions/{subscription}';

/** For subscribers, authorised by the token of the subscription. API Gateway lets these paths through. */
const BY_TOKEN = '/v2/pull/{queue}/{subscription}';

type RouteContext = RequestContext<typeof BY_TOKEN>;

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
  const findHolder = holders(context);
  return [
    {
      base: OPERATED,
      id: 'operatePull',
      authorisation: {},
      subscriptionOf: async ({ params }) =>
        requirePull(await presentSubscription(context, subscriptionKey(params))),
      answererOf: async ({ params }) => {
        const { queue, subscriptionId } = subscriptionKey(params);
        const found = await context.registry.findSubscription(queue, subscriptionId);
        if (!isOnRecord(found)) throw notFound('such subscription');
        return requirePull(found);
      },
      callerOf: ({ caller }) => caller,
    },
    {
      base: BY_TOKEN,
      id: 'pull',
      authorisation: { open: 'pull_token' },
      subscriptionOf: ({ params, headers }) => findHolder(params, headers.authorization, isPresent),
      answererOf: ({ params, headers }) => findHolder(params, headers.authorization, isOnRecord),
      callerOf: ({ caller, headers }) => ({ ...caller, principal: namePrincipal(headers.authorization) }),
    },
  ];
}
