import * as z from 'zod';
import {
  makeSecret,
  parseSecret,
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
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { timeText, timeView } from '../../../shared/wire/fields.ts';
import type { ApiDependencies, ApiPorts } from '../dependencies.ts';
import { type AddRoute, json, optionalJsonBody } from '../route.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { seconds } from '../fields.ts';
import { subscriptionKey } from '../paths.ts';
import { parseWith, readOptionalJson } from '../request-json.ts';
import {
  DEFAULT_GRACE_SECONDS,
  MAX_GRACE_SECONDS,
  MAX_SECRETS,
  rotateSecrets,
  type SealedSecret,
} from '../../../shared/domain/subscription/secret-rotation.ts';

export function addSecretRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  addRoute(
    {
      method: 'POST',
      path: '/v2/queues/:queue/subscriptions/:subscription/secret/rotate',
      id: 'rotateSecret',
      tag: 'subscriptions',
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
      refuses: [400, 404, 409, 413],
    },
    async (context) => {
      const fields = rotationFields((await readOptionalJson(context.req)).value);
      const key = subscriptionKey(context.req.param());
      const { secret, previousExpiresAt } = requireRotated(
        await rotateSecret(dependencies, { ...key, ...fields }),
      );
      const end = previousExpiresAt === undefined ? {} : { previousExpiresAt: timeText(previousExpiresAt) };
      audit(context.env.caller, { change: 'secret_rotated', ...key, scheme: secret.scheme, ...end });
      const publicKey = publicKeyText(secret);
      const shown = publicKey === undefined ? { secret: secretText(secret) } : { publicKey };
      return context.json({ ...shown, ...end } satisfies z.input<typeof rotationAnswerSchema>);
    },
  );
}

/** @throws RefusedRequest */
function requireRotated(result: RotateResult): Extract<RotateResult, { kind: 'rotated' }> {
  switch (result.kind) {
    case 'rotated':
      return result;
    case 'no_such_subscription':
      throw notFound('such subscription');
    case 'rotated_meanwhile':
      throw new RefusedRequest('conflict', 'another request rotated the secret at the same time');
    case 'too_many':
      throw new RefusedRequest(
        'conflict',
        `${MAX_SECRETS} secrets are in force; the next one expires at ${timeText(result.until)}. With graceSeconds 0 the previous secrets expire at once`,
      );
  }
}

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

type RotationFields = { secret: SigningSecret | SigningScheme; graceMs: number };

/** @throws RefusedRequest `invalid_request` naming the field, never its value. */
function rotationFields(value: unknown): RotationFields {
  const { secret: text, type, graceSeconds } = parseWith(rotationRequestSchema, value);
  const graceMs = graceSeconds * 1000;
  if (text === undefined) return { secret: type ?? 'v1', graceMs };
  const secret = parseSecret(text);
  if (secret === undefined) throw invalidFields([{ field: 'secret', message: SECRET_RULE }]);
  if (type !== undefined && type !== secret.scheme) {
    throw invalidFields([{ field: 'type', message: `must be ${secret.scheme}, as the secret is` }]);
  }
  return { secret, graceMs };
}

type RotateContext = Pick<ApiPorts, 'clock' | 'secretSealer' | 'randomBytes'> & {
  registry: Pick<Registry, 'findSubscription' | 'changeSubscription'>;
};

type RotateRequest = SubscriptionKey & {
  /** The new secret, or the scheme of a secret to generate. */
  secret: SigningSecret | SigningScheme;
  graceMs: number;
};

type RotateResult =
  | { kind: 'rotated'; secret: SigningSecret; previousExpiresAt: number | undefined }
  | { kind: 'no_such_subscription' }
  /** Another rotation won the race. Its caller already has the secret, so that one stays. */
  | { kind: 'rotated_meanwhile' }
  | { kind: 'too_many'; until: number };

/** Gives a subscription a new secret. The previous one stays in force until its grace period ends. */
export async function rotateSecret(context: RotateContext, request: RotateRequest): Promise<RotateResult> {
  const { registry, clock, secretSealer, randomBytes } = context;
  const { queue, subscriptionId, graceMs } = request;
  const found = await registry.findSubscription(queue, subscriptionId);
  if (!isPresent(found, clock.now())) return { kind: 'no_such_subscription' };
  const secret =
    typeof request.secret === 'string' ? makeSecret(request.secret, randomBytes) : request.secret;
  const sealed = await secretSealer.seal({ queue, subscriptionId }, secret);
  const publicKey = publicKeyText(secret);
  const now = clock.now();
  const stored: SealedSecret = { sealed, ...(publicKey === undefined ? {} : { publicKey }) };
  const rotation = rotateSecrets(found.secrets ?? [], stored, { now, graceMs });
  if (rotation.kind === 'too_many') return rotation;
  const changed = await registry.changeSubscription({ queue, subscriptionId, now }, (current) =>
    sealedSecret(current) === sealedSecret(found) ? { ...current, secrets: rotation.secrets } : undefined,
  );
  if (changed.kind === 'missing') return { kind: 'no_such_subscription' };
  if (changed.kind !== 'changed') return { kind: 'rotated_meanwhile' };
  return { kind: 'rotated', secret, previousExpiresAt: rotation.previousExpiresAt };
}

/** Sealing never returns the same text twice, so a different text means that the secret was rotated. */
function sealedSecret({ secrets }: Subscription): string | undefined {
  return secrets?.[0]?.sealed;
}
