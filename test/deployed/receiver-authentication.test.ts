import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { startAuthorisationServer } from '../support/authorisation-server.ts';
import { finishedDelivery, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { certificateAuthority } from '../support/certificates.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { publish } from '../support/sqs-messages.ts';

const authority = certificateAuthority('Private authority');
const ofLoopback = () => authority.issue({ names: ['127.0.0.1'] });
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const privateReceiver = async (options: { requestCert?: boolean } = {}): Promise<Receiver> => {
  const receiver = await startReceiver({
    tls: { ...ofLoopback(), ca: authority.cert, ...options, rejectUnauthorized: true },
  });
  closing.push(receiver.close);
  return receiver;
};

const deliveryTo = async (url: string, auth: object, policy = aBarePolicy()) => {
  const [queue, id] = [`authentication-${randomUUID()}`, randomUUID()];
  await putQueue(queue, policy);
  await subscribe(queue, url, { auth });
  await publish({ queue, id, data: 1 });
  return finishedDelivery(queue, id);
};

describe.concurrent('a subscription with auth', () => {
  it('delivers to a receiver with a private authority that demands a client certificate', async () => {
    const receiver = await privateReceiver({ requestCert: true });
    const { cert, key } = authority.issue({ names: ['posthaste'] });
    const mtls = { type: 'mtls', certificate: cert, private_key: key, ca: authority.cert };
    expect(await deliveryTo(receiver.url('/'), mtls)).toMatchObject({ status: 'delivered' });
    expect(receiver.received()).toMatchObject([{ client: 'posthaste' }]);
  });

  it('delivers with a token of its authorisation server, and with another once that is refused', async () => {
    const credentials = { id: 'posthaste', secret: 'open sesame' };
    const server = await startAuthorisationServer(ofLoopback(), [credentials]);
    closing.push(server.close);
    const receiver = await privateReceiver();
    // Fails until a token is old enough to be renewed, then refuses it; soon enough for retries in the same invocation.
    const firstUse = new Map<string, number>();
    let isRenewed = false;
    receiver.script('/', ({ headers: { authorization = '' }, arrivedAt }) => {
      firstUse.set(authorization, firstUse.get(authorization) ?? arrivedAt);
      const isOld = arrivedAt - (firstUse.get(authorization) ?? 0) >= 5_000;
      isRenewed ||= isOld;
      if (isOld) return { status: 401 };
      return isRenewed ? { status: 200 } : { status: 503, delayMs: 1_700 };
    });
    const auth = {
      type: 'oauth2_client_credentials',
      token_url: server.tokenUrl,
      client_id: credentials.id,
      client_secret: credentials.secret,
      ca: authority.cert,
    };
    const retries = aBarePolicy({ retries_with_no_delay: 6 });
    const { status, attempts } = await deliveryTo(receiver.url('/'), auth, retries);
    expect([status, attempts.at(-1)?.statusCode]).toEqual(['delivered', 200]);
    const requests = receiver.received('/');
    expect(requests).toHaveLength(attempts.length + 1);
    const token = requests.at(-1)?.headers.authorization?.replace('Bearer ', '') ?? '';
    expect(await server.issued(token)).toMatchObject({ clientId: credentials.id });
  });
});
