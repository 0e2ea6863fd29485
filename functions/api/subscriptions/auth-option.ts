import * as z from 'zod';
import { type Auth, type AuthType, SECRET_FIELDS } from '../../../shared/domain/subscription/auth.ts';
import { REDACTED } from '../../../shared/domain/subscription/credential-headers.ts';
import { MAX_SUBSCRIBER_URL_LENGTH } from '../../../shared/domain/subscription/subscriber-url.ts';
import { parseCertificates, parsePrivateKey, type Pem } from './pem.ts';
import { headerNameFault, HEADER_VALUE } from './post-headers.ts';

/** Lengths in characters; a token may be long. */
const MAX_VALUE = 8192;
const MAX_NAME = 256;
const MAX_PASSWORD = 1024;
const MAX_OAUTH = 2048;
/** A chain of four, a key of 8192 bits, and a few authorities. */
const MAX_CERTIFICATE = 8192;
const MAX_KEY = 8192;
const MAX_CA = 16_384;

function text(maxLength: number, pattern: RegExp, rule: string) {
  const error = `must be 1 to ${maxLength} characters, ${rule}`;
  return z.string(error).min(1, error).max(maxLength, error).regex(pattern, error);
}

/** RFC 6749 appendix A allows printable ASCII. */
function printableAscii(maxLength: number) {
  return text(maxLength, /^[\x20-\x7e]*$/, 'printable ASCII');
}

/** Excludes control characters and halves of surrogate pairs, which have no form in UTF-8. */
const WELL_FORMED = /^[^\p{Cc}\p{Cs}]*$/u;

function pem(maxLength: number, parse: (given: string) => Pem<unknown>) {
  return z
    .string()
    .max(maxLength, `must be at most ${maxLength} characters`)
    .transform((given, refinement) => {
      const parsed = parse(given);
      if (parsed.kind === 'valid') return parsed.pem;
      refinement.addIssue({ code: 'custom', message: parsed.fault });
      return z.NEVER;
    });
}

const certificates = (maxLength: number) => pem(maxLength, parseCertificates);

const privateKey = pem(MAX_KEY, (given) =>
  given === REDACTED ? { kind: 'valid', pem: given, content: undefined } : parsePrivateKey(given),
).describe('In PEM, not encrypted.');

const ca = certificates(MAX_CA)
  .describe(
    'In PEM: authorities that are trusted in place of the public ones, for the subscriber and `token_url`.',
  )
  .exactOptional();

/**
 * The fields of a type in the domain. Stated again here, because the rules parse certificates, which the console, the other
 * user of the domain's schema, cannot.
 */
type FieldsOf<Type extends AuthType> = Record<keyof Extract<Auth, { type: Type }>, z.ZodType>;

const header = z.strictObject({
  type: z.literal('header'),
  name: z
    .string()
    .max(MAX_NAME, `must be at most ${MAX_NAME} characters`)
    .superRefine((name, refinement) => {
      const fault = headerNameFault(name);
      if (fault !== undefined) refinement.addIssue(fault);
    }),
  value: text(MAX_VALUE, HEADER_VALUE, 'printable ASCII'),
  ca,
} satisfies FieldsOf<'header'>);

const basic = z.strictObject({
  type: z.literal('basic'),
  username: text(MAX_NAME, WELL_FORMED, 'without control characters').refine(
    (name) => !name.includes(':'),
    'must not contain a colon',
  ),
  password: z
    .string()
    .max(MAX_PASSWORD, `must be at most ${MAX_PASSWORD} characters`)
    .regex(WELL_FORMED, 'must not contain control characters'),
  ca,
} satisfies FieldsOf<'basic'>);

const mtls = z.strictObject({
  type: z.literal('mtls'),
  certificate: certificates(MAX_CERTIFICATE).describe(
    'In PEM: the certificate of the client, then its intermediates, if any.',
  ),
  private_key: privateKey,
  ca,
} satisfies FieldsOf<'mtls'>);

const oauth2 = z
  .strictObject({
    type: z.literal('oauth2_client_credentials'),
    token_url: z
      .string()
      .max(MAX_SUBSCRIBER_URL_LENGTH, `must not be longer than ${MAX_SUBSCRIBER_URL_LENGTH} characters`)
      .meta({ format: 'uri', description: 'The token endpoint: https, not at a private address.' }),
    client_id: printableAscii(MAX_NAME),
    client_secret: printableAscii(MAX_OAUTH).exactOptional(),
    private_key: privateKey.describe('In PEM, for `private_key_jwt`.').exactOptional(),
    key_id: printableAscii(MAX_NAME).describe('The `kid` of `private_key` at the server.').exactOptional(),
    certificate: certificates(MAX_CERTIFICATE)
      .describe('In PEM, of `private_key`: the server knows it by its thumbprint (`x5t`, `x5t#S256`).')
      .exactOptional(),
    issuer: printableAscii(MAX_OAUTH)
      .describe('The audience of what `private_key` signs. By default `token_url`.')
      .exactOptional(),
    scope: printableAscii(MAX_OAUTH).describe('Separated by blanks.').exactOptional(),
    audience: printableAscii(MAX_OAUTH).exactOptional(),
    ca,
  } satisfies FieldsOf<'oauth2_client_credentials'>)
  .refine(
    ({ client_secret, private_key }) => (client_secret === undefined) !== (private_key === undefined),
    'must have either client_secret or private_key',
  )
  .refine(
    ({ private_key, key_id, certificate, issuer }) =>
      private_key !== undefined || (key_id ?? certificate ?? issuer) === undefined,
    'must have a private_key for key_id, certificate or issuer',
  );

/** `options.auth`. The rest of the checks needs the subscription: seal-auth.ts. */
export const authOption = z
  .discriminatedUnion(
    'type',
    [header, basic, mtls, oauth2],
    `must be one of ${Object.keys(SECRET_FIELDS).join(', ')}`,
  )
  .describe(
    'How requests authenticate at the subscriber. Secret values are shown as `***`.',
  ) satisfies z.ZodType<Auth>;
