import { describe, expect, it, onTestFinished } from 'vitest';
import { clientCertificates } from '../../../shared/adapters/http/connection.ts';
import { httpSubscriber } from '../../../shared/adapters/http/subscriber.ts';
import type { ClientTls } from '../../../shared/ports/subscriber.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { startRawServer } from './raw-server.ts';

const DEADLINE_MS = 2_000;
const OK = { kind: 'answered', statusCode: 200 };

/** A public authority, one of a receiver for itself and its senders, and one that it does not know. */
const [publicOne, privateOne, stranger] = ['Public', 'Private', 'Stranger'].map(certificateAuthority);
if (publicOne === undefined || privateOne === undefined || stranger === undefined) throw new Error();

const clientOf = ({ issue }: typeof privateOne, name: string) => {
  const { cert, key } = issue({ names: [name] });
  return { identity: { certificate: cert, privateKey: key } };
};
const [one, other] = [clientOf(privateOne, 'one'), clientOf(privateOne, 'other')];
const server = publicOne.issue({ names: ['127.0.0.1'] });
const privateServer = privateOne.issue({ names: ['127.0.0.1'] });

describe('subscribers that ask for a client certificate', () => {
  const subscriber = httpSubscriber({
    allowedAddresses: ['127.0.0.0/8'],
    trustedCertificates: [publicOne.cert],
  });
  const post = (url: string, tls?: ClientTls) =>
    subscriber.post(
      { url, headers: {}, body: Buffer.from('{}') },
      DEADLINE_MS,
      tls === undefined ? {} : { tls },
    );
  const receiverWith = async (tls: { cert: string; key: string }, isRequired: boolean): Promise<Receiver> => {
    const receiver = await startReceiver({
      tls: { ...tls, ca: privateOne.cert, requestCert: true, rejectUnauthorized: isRequired },
    });
    onTestFinished(receiver.close);
    return receiver;
  };

  it('get the certificate of the subscription', async () => {
    const receiver = await receiverWith(server, true);
    expect(await post(receiver.url(), one)).toEqual(OK);
    expect(receiver.received()).toMatchObject([{ client: 'one' }]);
  });

  it('never get a request on a connection with the certificate of another subscription', async () => {
    const receiver = await receiverWith(server, false);
    for (const tls of [one, one, other, undefined, one, other]) await post(receiver.url(), tls);
    expect(receiver.received().map(({ client }) => client)).toEqual([
      'one',
      'one',
      'other',
      undefined,
      'one',
      'other',
    ]);
    expect(receiver.connections()).toBe(3);
  });

  it.each([
    [42, 'bad certificate'],
    [43, 'unsupported certificate'],
    [44, 'certificate revoked'],
    [45, 'certificate expired'],
    [46, 'certificate unknown'],
    [48, 'unknown ca'],
    [49, 'access denied'],
  ])('fail with the reason if they refuse it by alert %i', async (alert, reason) => {
    const refusing = await startRawServer((socket) => {
      // Fatal (RFC 8446 §6).
      socket.once('data', () => socket.end(Buffer.of(0x15, 3, 3, 0, 2, 2, alert)));
    });
    onTestFinished(refusing.close);
    expect(await post(`https://127.0.0.1:${refusing.port}/`, one)).toEqual({
      kind: 'unanswered',
      error: 'tls_failed',
      detail: `client certificate refused (${reason})`,
    });
  });

  it.each<[string, Partial<typeof one.identity>]>([
    ['a certificate that is not PEM', { certificate: 'certificate' }],
    ['a key that is not PEM', { privateKey: 'key' }],
    ['the key of another certificate', { privateKey: other.identity.privateKey }],
    ['a key that is not complete', { privateKey: one.identity.privateKey.slice(0, 100) }],
  ])('fail with %s, and no connection is made', async (_what, overrides) => {
    const receiver = await receiverWith(server, true);
    expect(await post(receiver.url(), { identity: { ...one.identity, ...overrides } })).toEqual({
      kind: 'unanswered',
      error: 'tls_failed',
      detail: 'client certificate or key unusable',
    });
    expect(receiver.connections()).toBe(0);
  });

  it('may have a private authority, which no other subscription trusts', async () => {
    const receiver = await receiverWith(privateServer, false);
    const unknownIssuer = { error: 'tls_failed', detail: 'certificate issuer unknown' };
    for (const tls of [one, {}])
      expect(await post(receiver.url(), { ...tls, ca: privateOne.cert })).toEqual(OK);
    expect(await post(receiver.url(), one)).toMatchObject(unknownIssuer);
    expect(await post(receiver.url())).toMatchObject(unknownIssuer);
    expect(receiver.received().map(({ client }) => client)).toEqual(['one', undefined]);
  });

  it('are not trusted for a public authority if the subscription names a private one', async () => {
    const receiver = await receiverWith(server, false);
    for (const ca of [privateOne.cert, 'not PEM'])
      expect(await post(receiver.url(), { ...one, ca })).toMatchObject({
        detail: 'certificate issuer unknown',
      });
    expect(receiver.received()).toEqual([]);
  });
});

describe('client certificates', () => {
  it.each([
    [200, 'without', []],
    [50, 'with', [publicOne.cert]],
  ])('are parsed once, unless %i others have been used since, %s added authorities', (most, _, added) => {
    const identityFor = clientCertificates(added);
    const withCa = (ca: string) => identityFor({ ...one, ca });
    const first = identityFor(one);
    for (let count = 1; count < most; count += 1) withCa(`authority ${count}`);
    expect(identityFor({ ...one })).toBe(first);
    for (let count = 0; count < most; count += 1) withCa(`new authority ${count}`);
    expect(identityFor(one)).not.toBe(first);
  });
});
