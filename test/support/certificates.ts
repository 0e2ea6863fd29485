import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';

type CertificateRequest = {
  /** DNS names and IPv4 addresses. */
  names: readonly string[];
  notBefore?: Date;
  notAfter?: Date;
};

const DAY_MS = 86_400_000;

/** X.509 certificates generated for one test run, so that no key is stored and no certificate expires. */
export const certificateAuthority = (commonName: string) => {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = nameOf(commonName);
  const root = certificate({
    issuer,
    subject: issuer,
    publicKey: keys.publicKey,
    signedBy: keys.privateKey,
    validity: validityOf({}),
    extensions: [extension(OID.basicConstraints, sequence(TRUE))],
  });
  /** A certificate of a key that exists. */
  const certify = ({ publicKey, ...request }: CertificateRequest & { publicKey: KeyObject }) => ({
    cert: certificate({
      issuer,
      subject: nameOf(request.names[0] ?? 'unnamed'),
      publicKey,
      signedBy: keys.privateKey,
      validity: validityOf(request),
      extensions: [extension(OID.subjectAltName, sequence(...request.names.map(altNameOf)))],
    }),
  });
  return {
    cert: root,
    certify,
    issue: (request: CertificateRequest) => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { ...certify({ ...request, publicKey }), key };
    },
  };
};

type Certificate = {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signedBy: KeyObject;
  validity: Buffer;
  extensions: readonly Buffer[];
};

/** RFC 5280 §4.1. */
const certificate = (parts: Certificate): string => {
  const toBeSigned = sequence(
    der(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    parts.issuer,
    parts.validity,
    parts.subject,
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...parts.extensions)),
  );
  const signature = sign('sha256', toBeSigned, parts.signedBy);
  const whole = sequence(toBeSigned, ECDSA_WITH_SHA256, bitString(signature));
  return `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`;
};

/** One ASN.1 value in DER: tag, length, contents (X.690 §8.1, §10.1). */
const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents);
  const { length } = content;
  const short =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...short]), content]);
};

const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items);
const integer = (bytes: Buffer): Buffer => der(0x02, bytes);
const bitString = (bytes: Buffer): Buffer => der(0x03, Buffer.of(0), bytes);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const TRUE = der(0x01, Buffer.of(0xff));

const OID = {
  /** 2.5.4.3 */
  commonName: oid('550403'),
  /** 2.5.29.17 */
  subjectAltName: oid('551d11'),
  /** 2.5.29.19 */
  basicConstraints: oid('551d13'),
};
/** 1.2.840.10045.4.3.2 */
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));

const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(OID.commonName, der(0x0c, Buffer.from(commonName)))));

const extension = (id: Buffer, value: Buffer): Buffer => sequence(id, der(0x04, value));

const altNameOf = (name: string): Buffer =>
  isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));

const validityOf = ({ notBefore, notAfter }: Partial<CertificateRequest>): Buffer =>
  sequence(time(notBefore ?? new Date(Date.now() - DAY_MS)), time(notAfter ?? new Date(Date.now() + DAY_MS)));

/** GeneralizedTime, yyyymmddhhmmssZ. */
const time = (date: Date): Buffer =>
  der(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`));
