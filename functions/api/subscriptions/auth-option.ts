import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import * as z from 'zod';
import { type Auth, type AuthType, SECRET_FIELDS } from '../../../shared/domain/subscription/auth.ts';
import { REDACTED } from '../../../shared/domain/subscription/credential-headers.ts';
import { MAX_SUBSCRIBER_URL_LENGTH } from '../../../shared/domain/subscription/subscriber-url.ts';
import { HEADER_VALUE, headerNameFault } from './post-headers.ts';

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

/** A type that is missing here could not be given. */
const types = { header, basic, mtls, oauth2_client_credentials: oauth2 } satisfies Record<AuthType, unknown>;

/** `options.auth`. The rest of the checks needs the subscription: seal-auth.ts. */
export const authOption = z
  .discriminatedUnion(
    'type',
    [types.header, types.basic, types.mtls, types.oauth2_client_credentials],
    `must be one of ${Object.keys(SECRET_FIELDS).join(', ')}`,
  )
  .describe(
    'How requests authenticate at the subscriber. Secret values are shown as `***`.',
  ) satisfies z.ZodType<Auth>;

/** `fault` completes a sentence that begins with the name of the field. */
type Pem<Content> = { kind: 'valid'; pem: string; content: Content } | { kind: 'invalid'; fault: string };

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

/** The certificates of a PEM text, and the text without what stands between them. */
export function parseCertificates(text: string): Pem<readonly X509Certificate[]> {
  const blocks = [...text.matchAll(BLOCK)];
  if (blocks.length === 0) return invalid('must be certificates in PEM: -----BEGIN CERTIFICATE-----');
  // This field is shown again: a key that was pasted with its certificate must not be.
  if (blocks.some(([, label]) => label !== 'CERTIFICATE')) return invalid('must contain certificates only');
  const pems = blocks.map(([block]) => block);
  try {
    const content = pems.map((pem) => new X509Certificate(pem));
    return { kind: 'valid', pem: `${pems.join('\n')}\n`, content };
  } catch {
    return invalid('contains a certificate that cannot be read');
  }
}

const KEY_RULE =
  'must be an RSA key of 2048 to 8192 bits, an EC key on P-256, P-384 or P-521, or an Ed25519 key';

/** The private key of a PEM text in any usual form, and the same as PKCS #8. */
export function parsePrivateKey(text: string): Pem<KeyObject> {
  if (text.includes('ENCRYPTED')) return invalid('must not be encrypted: send the decrypted key');
  const key = decodePrivateKey(text);
  if (key === undefined) return invalid('must be a private key in PEM');
  if (!isUsable(key)) return invalid(KEY_RULE);
  return { kind: 'valid', pem: key.export({ type: 'pkcs8', format: 'pem' }).toString(), content: key };
}

/** No message of OpenSSL is passed on: it could quote the key. */
function decodePrivateKey(text: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: text, format: 'pem' });
  } catch {
    return undefined;
  }
}

const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);

function isUsable({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa') return modulusLength >= 2048 && modulusLength <= 8192;
  if (asymmetricKeyType === 'ec') return CURVES.has(namedCurve);
  return asymmetricKeyType === 'ed25519';
}

/** A certificate, perhaps with its intermediates, and its key, in PEM. */
type CertifiedKey = { certificate: string; private_key: string };

/** `field`: the one to correct. */
type CertificateFault = { field: keyof CertifiedKey; message: string };

/** Why a certificate cannot be used with its key at `now`. */
export function certificateFault(
  { certificate, private_key }: CertifiedKey,
  now: number,
): CertificateFault | undefined {
  const chain = certificatesIn(certificate);
  const key = decodePrivateKey(private_key);
  if (key === undefined || chain[0]?.checkPrivateKey(key) !== true)
    return {
      field: 'private_key',
      message: 'does not belong to the certificate, which must be the first one',
    };
  const early = chain.find(({ validFromDate }) => validFromDate.getTime() > now);
  if (early !== undefined)
    return { field: 'certificate', message: `is not valid before ${early.validFromDate.toISOString()}` };
  const late = chain.find(({ validToDate }) => validToDate.getTime() <= now);
  if (late !== undefined)
    return { field: 'certificate', message: `expired at ${late.validToDate.toISOString()}` };
  return undefined;
}

/** Why a certificate cannot be used for TLS connections. */
export function tlsFault({ certificate, private_key }: CertifiedKey): CertificateFault | undefined {
  try {
    createSecureContext({ cert: certificate, key: private_key });
    return undefined;
  } catch {
    return { field: 'certificate', message: 'cannot be used for TLS: its key or signature is too weak' };
  }
}

/** When the first certificate of a chain expires. Milliseconds since the epoch. */
export function findCertificateExpiry(certificate: string): number {
  return Math.min(...certificatesIn(certificate).map(({ validToDate }) => validToDate.getTime()));
}

function certificatesIn(pem: string): readonly X509Certificate[] {
  const parsed = parseCertificates(pem);
  return parsed.kind === 'valid' ? parsed.content : [];
}

function invalid(fault: string): { kind: 'invalid'; fault: string } {
  return { kind: 'invalid', fault };
}
