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
import { type SigningScheme, SIGNING_SCHEMES } from '../../../shared/domain/subscription/vocabulary.ts';
import {
  type Subscription,
  type SubscriptionKey,
  isPresent,
} from '../../../shared/domain/subscription/subscription.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import type { ApiDependencies, ChangeContext } from '../dependencies.ts';
import { type AddRoute, json, jsonAnswer, optionalJsonBody } from '../route.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { presentSubscription } from '../existing.ts';
import { seconds } from '../fields.ts';
import { isSubscriptionId, subscriptionKey } from '../paths.ts';
import {
  DEFAULT_GRACE_SECONDS,
  MAX_GRACE_SECONDS,
  MAX_SECRETS,
  rotateSecrets,
  secretsInForce,
  type SealedSecret,
} from '../../../shared/domain/subscription/secret-rotation.ts';

/** The routes that give a subscription a new secret, and show its public keys. */
export function addSecretRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit, registry, clock } = dependencies;

  addRoute(
    {
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
    },
    async ({ params, body, caller }) => {
      const fields = rotationFields(body);
      const key = subscriptionKey(params);
      const { secret, previousExpiresAt } = await rotateSecret(dependencies, { ...key, ...fields });
      const end = previousExpiresAt === undefined ? {} : { previousExpiresAt: timeText(previousExpiresAt) };
      audit(caller, { change: 'secret_rotated', ...key, scheme: secret.scheme, ...end });
      const publicKey = publicKeyText(secret);
      const shown = publicKey === undefined ? { secret: secretText(secret) } : { publicKey };
      return jsonAnswer({ ...shown, ...end } satisfies z.input<typeof rotationAnswerSchema>);
    },
  );

  // Open to every caller: receivers have no credentials, and the random id of a subscription cannot be guessed. Every
  // refusal is the same, so that callers cannot learn which queues exist.
  addRoute(
    {
      key: 'GET /v2/queues/{queue}/subscriptions/{subscription}/jwks.json',
      id: 'getPublicKeys',
      summary: 'The public keys that verify the v1a signatures of a subscription, as a JWK set',
      description:
        'RFC 7517 and RFC 8037. The keys in force, the current one first. Needs no authorisation. 404 if there is none.',
      answers: { 200: json('The keys.', jwksSchema) },
      refuses: [404],
      open: true,
    },
    async ({ params: { queue, subscription: id } }) => {
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
  );
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

/** `secret`: the new secret, or the scheme of a secret to generate. */
type RotationFields = { secret: SigningSecret | SigningScheme; graceMs: number };

/** @throws RefusedRequest `invalid_request` naming the field, never its value. */
function rotationFields({
  secret: text,
  type,
  graceSeconds,
}: z.output<typeof rotationRequestSchema>): RotationFields {
  const graceMs = graceSeconds * 1000;
  if (text === undefined) return { secret: type ?? 'v1', graceMs };
  const secret = parseSecret(text);
  if (secret === undefined) throw invalidFields([{ field: 'secret', message: SECRET_RULE }]);
  if (type !== undefined && type !== secret.scheme) {
    throw invalidFields([{ field: 'type', message: `must be ${secret.scheme}, as the secret is` }]);
  }
  return { secret, graceMs };
}

/**
 * Gives a subscription a new secret. The previous one stays in force until its grace period ends.
 * @throws RefusedRequest
 */
export async function rotateSecret(
  { registry, clock, secretSealer, randomBytes }: ChangeContext,
  { queue, subscriptionId, secret: given, graceMs }: SubscriptionKey & RotationFields,
): Promise<{ secret: SigningSecret; previousExpiresAt: number | undefined }> {
  const found = await presentSubscription({ registry, clock }, { queue, subscriptionId });
  const secret = typeof given === 'string' ? makeSecret(given, randomBytes) : given;
  const sealed = await secretSealer.seal({ queue, subscriptionId }, secret);
  const publicKey = publicKeyText(secret);
  const now = clock.now();
  const stored: SealedSecret = { sealed, ...(publicKey === undefined ? {} : { publicKey }) };
  const rotation = rotateSecrets(found.secrets ?? [], stored, { now, graceMs });
  if (rotation.kind === 'too_many')
    throw new RefusedRequest(
      'conflict',
      `${MAX_SECRETS} secrets are in force; the next one expires at ${timeText(rotation.until)}. With graceSeconds 0 the previous secrets expire at once`,
    );
  const changed = await registry.changeSubscription({ queue, subscriptionId, now }, (current) =>
    sealedSecret(current) === sealedSecret(found) ? { ...current, secrets: rotation.secrets } : undefined,
  );
  if (changed.kind === 'missing') throw notFound('such subscription');
  // The caller of the other rotation already has that secret, so it stays.
  if (changed.kind !== 'changed')
    throw new RefusedRequest('conflict', 'another request rotated the secret at the same time');
  return { secret, previousExpiresAt: rotation.previousExpiresAt };
}

/** Sealing never returns the same text twice, so a different text means that the secret was rotated. */
function sealedSecret({ secrets }: Subscription): string | undefined {
  return secrets?.[0]?.sealed;
}
