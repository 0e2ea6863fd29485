import type { OAuth2Auth } from '../../shared/domain/subscription/auth.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { AccessTokens } from '../../shared/ports/subscriber.ts';
import type { Faults } from './faults.ts';
import type { Actor } from './history.ts';
import type { PlannedSubscription } from './scenario.ts';

/** The shares of subscriptions that need a token, and of requests for one that fail. */
const WITH_TOKEN = 0.2;
const WITHOUT_SUCCESS = 0.3;

const auth: OAuth2Auth = {
  type: 'oauth2_client_credentials',
  token_url: 'https://login.test/token',
  client_id: 'posthaste',
  client_secret: 'secret',
};

/** How a subscription authenticates. Texts are stored unsealed (machines.ts). */
export const authFor = (
  { faults }: { faults: Faults },
  { id, pull }: PlannedSubscription,
): Pick<Subscription, 'auth'> =>
  pull !== true && faults.chance(`token of ${id}`) < WITH_TOKEN
    ? { auth: { shown: auth, sealed: JSON.stringify(auth), at: 0 } }
    : {};

/** Authorisation servers that fail at times. A failure is an attempt without a request. */
export const simulatedTokens = (
  { faults }: { faults: Faults },
  { name }: Pick<Actor, 'name'>,
): AccessTokens => {
  let calls = 0;
  return {
    tokenFor: () => {
      calls += 1;
      return Promise.resolve(
        faults.chance(`${name}|token ${calls}`) < WITHOUT_SUCCESS
          ? { kind: 'failed', detail: 'invalid_client' }
          : { kind: 'token', token: 'token' },
      );
    },
  };
};
