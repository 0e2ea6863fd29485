import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { certificateAuthority } from '../support/certificates.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { publish } from '../support/sqs-messages.ts';

const authority = certificateAuthority('Private authority');
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const privateReceiver = async (): Promise<Receiver> => {
  const tls = { ...authority.issue({ names: ['127.0.0.1'] }), ca: authority.cert, requestCert: true };
  const receiver = await startReceiver({ tls: { ...tls, rejectUnauthorized: true } });
  closing.push(receiver.close);
  return receiver;
};

const deliveryTo = async (url: string, auth: object) => {
  const [queue, id] = [`authentication-${randomUUID()}`, randomUUID()];
  await putQueue(queue, aBarePolicy());
  await subscribe(queue, url, { auth });
  await publish({ queue, id, data: 1 });
  return finishedDelivery(queue, id);
};

describe('a subscription with auth', () => {
  it('delivers to a receiver with a private authority that demands a client certificate', async () => {
    const receiver = await privateReceiver();
    const { cert, key } = authority.issue({ names: ['posthaste'] });
    const mtls = { type: 'mtls', certificate: cert, private_key: key, ca: authority.cert };
    expect(await deliveryTo(receiver.url('/'), mtls)).toMatchObject({ status: 'delivered' });
    expect(receiver.received()).toMatchObject([{ client: 'posthaste' }]);
  });

  // The functions trust public authorities only, so no token comes: a unit test gets one by the bundled code.
  it('asks its authorisation server for a token, and sends nothing without one', async () => {
    const receiver = await startReceiver();
    closing.push(receiver.close);
    const delivery = await deliveryTo(receiver.url('/'), {
      type: 'oauth2_client_credentials',
      token_url: (await privateReceiver()).url('/token'),
      client_id: 'posthaste',
      client_secret: 'open sesame',
    });
    expect(delivery).toMatchObject({
      status: 'exhausted',
      attempts: [{ error: 'auth_failed: tls_failed: certificate issuer unknown' }],
    });
    expect(receiver.received()).toEqual([]);
  });
});
