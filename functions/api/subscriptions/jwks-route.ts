import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import { publicJwk } from '../../../shared/domain/subscription/signing-secret.ts';
import { isPresent } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { isSubscriptionId } from '../paths.ts';
import { type AddRoute, json } from '../route.ts';
import { secretsInForce } from '../../../shared/domain/subscription/secret-rotation.ts';

const jwksSchema = z.object({
  keys: z.array(
    z.object({
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string().describe('The public key, base64url.'),
      kid: z.string().describe('The thumbprint of the key (RFC 7638).'),
      use: z.literal('sig'),
      alg: z.literal('EdDSA'),
    }),
  ),
});

/** In seconds. Shorter than any grace period that leaves receivers time. */
const MAX_AGE = 300;

/**
 * The public keys of a subscription, open to every caller: receivers have no credentials, and the random id of a
 * subscription cannot be guessed. Every refusal is the same, so that callers cannot learn which queues exist.
 */
export function addJwksRoute(addRoute: AddRoute, { registry, clock }: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/:queue/subscriptions/:subscription/jwks.json',
      id: 'getPublicKeys',
      tag: 'subscriptions',
      summary: 'The public keys that verify the v1a signatures of a subscription, as a JWK set',
      description:
        'RFC 7517 and RFC 8037. The keys in force, the current one first. Needs no authorisation. 404 if there is none.',
      answers: { 200: json('The keys.', jwksSchema) },
      refuses: [404],
      open: true,
    },
    async (context) => {
      const { queue, subscription: id } = context.req.param();
      const isName = isQueueName(queue) && isSubscriptionId(id);
      const found = isName ? await registry.findSubscription(queue, id) : undefined;
      const secrets = isPresent(found, clock.now()) ? secretsInForce(found.secrets ?? [], clock.now()) : [];
      const keys = secrets.flatMap(({ publicKey }) =>
        publicKey === undefined ? [] : [publicJwk(publicKey)],
      );
      if (keys.length === 0) throw notFound('subscription with public keys');
      context.header('cache-control', `public, max-age=${MAX_AGE}`);
      return context.json({ keys } satisfies z.input<typeof jwksSchema>);
    },
  );
}
