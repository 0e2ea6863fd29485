import * as z from 'zod';
import {
  DEFAULT_GRACE_SECONDS,
  LONGEST_GRACE_SECONDS,
  MOST_SECRETS,
} from '../../../shared/domain/subscription/secret-rotation.ts';
import {
  parseSecret,
  publicKeyText,
  SECRET_RULE,
  secretText,
  type SigningScheme,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import type { Api, ApiDependencies } from '../dependencies.ts';
import { invalidFields, notFound, RefusedRequest } from '../errors.ts';
import { seconds } from '../fields.ts';
import { isSubscriptionId, queueName } from '../paths.ts';
import { parsed, readOptionalJson } from '../request-json.ts';
import { type RotateResult, rotateSecret } from './secrets.ts';

export function addSecretRoutes(api: Api, dependencies: ApiDependencies): void {
  const { audit } = dependencies;

  api.post('/v2/queues/:queue/subscriptions/:subscription/secret/rotate', async (context) => {
    const queue = queueName(context.req.param('queue'));
    const subscriptionId = context.req.param('subscription');
    const fields = rotationFields((await readOptionalJson(context.req)).value);
    if (!isSubscriptionId(subscriptionId)) throw notFound('such subscription');
    const rotated = rotatedOf(await rotateSecret(dependencies, { queue, subscriptionId, ...fields }));
    audit(context.env.caller, {
      change: 'secret_rotated',
      queue,
      subscriptionId,
      scheme: rotated.secret.scheme,
      ...endOf(rotated),
    });
    return context.json(answerOf(rotated));
  });
}

type Rotated = Extract<RotateResult, { kind: 'rotated' }>;

/** @throws RefusedRequest */
function rotatedOf(result: RotateResult): Rotated {
  switch (result.kind) {
    case 'rotated':
      return result;
    case 'no_such_subscription':
      throw notFound('such subscription');
    case 'rotated_meanwhile':
      throw new RefusedRequest('conflict', 'the secret was rotated by somebody else meanwhile');
    case 'too_many':
      throw new RefusedRequest(
        'conflict',
        `${MOST_SECRETS} secrets are in force; the next of them ends at ${new Date(result.until).toISOString()}. With graceSeconds 0 they end at once`,
      );
  }
}

function endOf({ previousExpiresAt }: Rotated): { previousExpiresAt?: string } {
  return previousExpiresAt === undefined
    ? {}
    : { previousExpiresAt: new Date(previousExpiresAt).toISOString() };
}

function answerOf(rotated: Rotated): z.input<typeof rotationAnswerSchema> {
  const publicKey = publicKeyText(rotated.secret);
  return {
    ...(publicKey === undefined ? { secret: secretText(rotated.secret) } : { publicKey }),
    ...endOf(rotated),
  };
}

/** The body of a rotation; without one every field is left out. */
export const rotationRequestSchema = z.strictObject({
  /** Taken as it is; without it a secret is made. */
  secret: z
    .string()
    .meta({ description: SECRET_RULE, pattern: '^wh(?:sec|sk)_[A-Za-z0-9+/]+={0,2}$' })
    .exactOptional(),
  type: z.enum(['v1', 'v1a'], 'must be v1 or v1a').exactOptional(),
  graceSeconds: seconds(0, LONGEST_GRACE_SECONDS).default(DEFAULT_GRACE_SECONDS),
});

/** The one answer that shows a secret. `secret` is a v1 one's; of a v1a one only the public key is shown. */
export const rotationAnswerSchema = z.object({
  secret: z.string().exactOptional(),
  publicKey: z.string().exactOptional(),
  /** Absent where the subscription had no secret. */
  previousExpiresAt: z.iso.datetime({ precision: 3 }).exactOptional(),
});

type RotationFields = { secret: SigningSecret | SigningScheme; graceMs: number };

/** @throws RefusedRequest `invalid_request` naming the field, never its value. */
function rotationFields(value: unknown): RotationFields {
  const { secret: text, type, graceSeconds } = parsed(rotationRequestSchema, value);
  const graceMs = graceSeconds * 1000;
  if (text === undefined) return { secret: type ?? 'v1', graceMs };
  const secret = parseSecret(text);
  if (secret === undefined) throw invalidFields([{ field: 'secret', message: SECRET_RULE }]);
  if (type !== undefined && type !== secret.scheme) {
    throw invalidFields([{ field: 'type', message: `must be ${secret.scheme}, as the secret is` }]);
  }
  return { secret, graceMs };
}
