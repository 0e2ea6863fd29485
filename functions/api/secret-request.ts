import * as z from 'zod';
import { DEFAULT_GRACE_SECONDS, LONGEST_GRACE_SECONDS } from '../../shared/domain/secret-rotation.ts';
import { parseSecret, SECRET_RULE } from '../../shared/domain/signing-secret.ts';
import type { SigningScheme, SigningSecret } from '../../shared/domain/signing-secret.ts';
import { invalidFields } from './error-answers.ts';
import { parsed } from './request-json.ts';
import { seconds } from './seconds.ts';

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

export type RotationFields = { secret: SigningSecret | SigningScheme; graceMs: number };

/** @throws RefusedRequest `invalid_request` naming the field, never its value. */
export const rotationFields = (value: unknown): RotationFields => {
  const { secret: text, type, graceSeconds } = parsed(rotationRequestSchema, value);
  const graceMs = graceSeconds * 1000;
  if (text === undefined) return { secret: type ?? 'v1', graceMs };
  const secret = parseSecret(text);
  if (secret === undefined) throw invalidFields([{ field: 'secret', message: SECRET_RULE }]);
  if (type !== undefined && type !== secret.scheme) {
    throw invalidFields([{ field: 'type', message: `must be ${secret.scheme}, as the secret is` }]);
  }
  return { secret, graceMs };
};
