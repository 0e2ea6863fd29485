import type { OAuth2Auth, StoredAuth } from '../../shared/domain/subscription/auth.ts';
import type { AccessTokens } from '../../shared/ports/subscriber.ts';
import { chanceAt } from '../support/chance.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Faults } from './faults.ts';
import type { Actor, History } from './history.ts';
import type { PlannedSubscription, Scenario } from './scenario.ts';

/** The shares of subscriptions that need a token, and of requests for one that fail. */
const WITH_TOKEN = 0.5;
const WITHOUT_SUCCESS = 0.3;

const auth: OAuth2Auth = {
  type: 'oauth2_client_credentials',
  token_url: 'https://login.test/token',
  client_id: 'posthaste',
  client_secret: 'secret',
};

/** The scenario, in which some subscribers want a token. */
export const withTokens = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((one) =>
    one.pull !== true && chanceAt(scenario.seed, `token of ${one.id}`) < WITH_TOKEN
      ? { ...one, needsToken: true }
      : one,
  ),
});

/** How a subscription authenticates. Texts are stored unsealed (machines.ts). */
export const authFor = ({ needsToken }: PlannedSubscription): StoredAuth | undefined =>
  needsToken === true ? { shown: auth, sealed: JSON.stringify(auth), at: 0 } : undefined;

/** Authorisation servers that fail at times. A failure is an attempt without a request. */
export const simulatedTokens = (
  { faults, history, deliveries }: { faults: Faults; history: History; deliveries: DeliveryStore },
  actor: Actor,
): AccessTokens => {
  let calls = 0;
  return {
    tokenFor: ({ subscriptionId }, _auth, { refused }) => {
      calls += 1;
      // A refused token is not replaced, so that an attempt makes one request at most.
      if (refused !== undefined || faults.chance(`${actor.name}|token ${calls}`) >= WITHOUT_SUCCESS)
        return Promise.resolve({ kind: 'token', token: 'token' });
      const delivery = actor.work?.deliveries.find((name) => name.endsWith(`/${subscriptionId}`)) ?? '';
      history.refused.push({ actor, grant: deliveries.grantOf(actor.owner, delivery) });
      return Promise.resolve({ kind: 'failed', detail: 'invalid_client' });
    },
  };
};
