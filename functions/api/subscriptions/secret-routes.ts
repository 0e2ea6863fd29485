import * as z from 'zod';
import { isQueueName } from '../../../shared/domain/message/message.ts';
import {
  makeSecret,
  parseSecret,
  publicJwk,
  publicKeyText,
  SECRET_RULE,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { SIGNING_SCHEMES } from '../../../shared/domain/subscription/vocabulary.ts';
import { isPresent, type SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { timeView } from '../../../shared/wire/fields.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import { invalidFields, notFound } from '../errors.ts';
import { presentSubscription } from '../existing.ts';
import { seconds } from '../fields.ts';
import { isSubscriptionId, subscriptionKey } from '../paths.ts';
import { rotate } from './rotate.ts';
import { sealSecret } from './subscribe.ts';
import {
  DEFAULT_GRACE_SECONDS,
  MAX_GRACE_SECONDS,
  secretsInForce,
  type SealedSecret,
} from '../../../shared/domain/subscription/secret-rotation.ts';

/** The routes that give a subscription a new secret, and show its public keys. */
export function addSecretRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, registry, clock } = dependencies;

  addRoute({
    key: 'POST /v2/queues/{queue}/subscriptions/{subscription}/secret/rotate',
    id: 'rotateSecret',
    summary: 'Gives a subscription a new signing secret',
    description:
      'The previous secret also signs for another `graceSeconds`, so that the subscriber has time to switch.',
    body: optionalJsonBody(rotationRequestSchema),
    answers: {
      200: json(
        'The new secret; for scheme `v1a` the public key instead. No later response contains the secret.',
        rotationAnswerSchema,
      ),
    },
    handle: async ({ params, body, caller }) => {
      const secret = givenSecret(body) ?? makeSecret(body.type ?? 'v1', dependencies.randomBytes);
      const key = subscriptionKey(params);
      const end = await rotateSecret(dependencies, key, { secret, graceMs: body.graceSeconds * 1000 });
      audit(caller, { change: 'secret_rotated', ...key, scheme: secret.scheme, ...end });
      const publicKey = publicKeyText(secret);
      const shown = publicKey === undefined ? { secret: secretText(secret) } : { publicKey };
      return jsonAnswer({ ...shown, ...end } satisfies z.input<typeof rotationAnswerSchema>);
    },
  });

  // Open to every caller: receivers have no credentials, and the random id of a subscription cannot be guessed. Every
  // refusal is the same, so that callers cannot learn which queues exist.
  addRoute({
    key: 'GET /v2/queues/{queue}/subscriptions/{subscription}/jwks.json',
    id: 'getPublicKeys',
    summary: 'The public keys that verify the v1a signatures of a subscription, as a JWK set',
    description:
      'RFC 7517 and RFC 8037. The keys in force, the current one first. Needs no authorisation. 404 if there is none.',
    answers: { 200: json('The keys.', jwksSchema) },
    refuses: [404],
    open: true,
    handle: async ({ params: { queue, subscription: id } }) => {
      const isName = isQueueName(queue) && isSubscriptionId(id);
      const found = isName ? await registry.findSubscription(queue, id) : undefined;
      const secrets = isPresent(found, clock.now()) ? secretsInForce(found.secrets ?? [], clock.now()) : [];
      const keys = secrets.flatMap(({ publicKey }) =>
        publicKey === undefined ? [] : [publicJwk(publicKey)],
      );
      if (keys.length === 0) throw notFound('subscription with public keys');
      return jsonAnswer({ keys } satisfies z.input<typeof jwksSchema>, 200, {
        'cache-control': `public, max-age=${MAX_AGE}`,
      });
    },
  });
}

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

/** The body of a rotation. */
const rotationRequestSchema = z.strictObject({
  secret: z
    .string()
    .meta({
      description: `The new secret: ${SECRET_RULE}. By default a secret is generated.`,
      pattern: '^wh(?:sec|sk)_[A-Za-z0-9+/]+={0,2}$',
    })
    .exactOptional(),
  type: z
    .enum(SIGNING_SCHEMES, 'must be v1 or v1a')
    .describe('The scheme of a generated secret. By default v1.')
    .exactOptional(),
  graceSeconds: seconds(0, MAX_GRACE_SECONDS)
    .describe('Seconds for which the previous secret keeps signing.')
    .default(DEFAULT_GRACE_SECONDS),
});

/** Contains a v1 secret, or the public key of a v1a secret. */
const rotationAnswerSchema = z.object({
  secret: z.string().exactOptional(),
  publicKey: z.string().exactOptional(),
  previousExpiresAt: timeView
    .describe('When the previous secret stops signing. Absent if there was none.')
    .exactOptional(),
});

/** @throws RefusedRequest `invalid_request` naming the field, never its value. */
function givenSecret({
  secret: text,
  type,
}: z.output<typeof rotationRequestSchema>): SigningSecret | undefined {
  if (text === undefined) return undefined;
  const secret = parseSecret(text);
  if (secret === undefined) throw invalidFields([{ field: 'secret', message: SECRET_RULE }]);
  if (type !== undefined && type !== secret.scheme) {
    throw invalidFields([{ field: 'type', message: `must be ${secret.scheme}, as the secret is` }]);
  }
  return secret;
}

/** Gives a subscription this secret. @throws RefusedRequest */
export async function rotateSecret(
  context: ChangeContext,
  key: SubscriptionKey,
  { secret, graceMs }: { secret: SigningSecret; graceMs: number },
): ReturnType<typeof rotate> {
  const found = await presentSubscription(context, key);
  const made = await sealSecret(context, key, { secret });
  return rotate<SealedSecret>(context, found, {
    what: 'secret',
    made,
    graceMs,
    heldBy: ({ secrets = [] }) => secrets,
    give: (secrets, current) => ({ ...current, secrets }),
  });
}
