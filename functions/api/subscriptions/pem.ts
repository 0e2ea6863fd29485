import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** `fault` completes a sentence that begins with the name of the field. */
export type Pem<Content> =
  { kind: 'valid'; pem: string; content: Content } | { kind: 'invalid'; fault: string };

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
  const key = privateKeyOf(text);
  if (key === undefined) return invalid('must be a private key in PEM');
  if (!isUsable(key)) return invalid(KEY_RULE);
  return { kind: 'valid', pem: key.export({ type: 'pkcs8', format: 'pem' }).toString(), content: key };
}

/** No message of OpenSSL is passed on: it could quote the key. */
function privateKeyOf(text: string): KeyObject | undefined {
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
  const key = privateKeyOf(private_key);
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
export function endOf(certificate: string): number {
  return Math.min(...certificatesIn(certificate).map(({ validToDate }) => validToDate.getTime()));
}

function certificatesIn(pem: string): readonly X509Certificate[] {
  const parsed = parseCertificates(pem);
  return parsed.kind === 'valid' ? parsed.content : [];
}

function invalid(fault: string): { kind: 'invalid'; fault: string } {
  return { kind: 'invalid', fault };
}
