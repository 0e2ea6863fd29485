import { createPublicKey, type KeyObject, randomBytes, randomUUID, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { answerOf, finishedDelivery } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import type { ReceivedRequest } from '../support/receiver.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const { apiUrl } = deployment.endpoints;

const receiver = await receiverOfTests();

const subscribedSchema = z.object({ subscription_id: z.string(), secret: z.string() });
const rotatedSchema = z.object({ secret: z.string().optional() });

const jwksSchema = z.object({ keys: z.array(z.looseObject({})) });

const newSubscription = async () => {
  const queue = `signatures-${randomUUID()}`;
  const subscriptions = `/v2/queues/${queue}/subscriptions`;
  const answer = await answerOf('POST', subscriptions, { subscriber: receiver.url(`/${queue}`) });
  const { subscription_id: id, secret } = subscribedSchema.parse(answer);
  return {
    queue,
    secret,
    rotate: async (body: object) =>
      rotatedSchema.parse(await answerOf('POST', `${subscriptions}/${id}/secret/rotate`, body)),
    /** What a receiver reads, which has no credentials. */
    publicKeys: async (): Promise<KeyObject[]> => {
      const { keys } = jwksSchema.parse(
        await (await fetch(`${apiUrl}${subscriptions}/${id}/jwks.json`)).json(),
      );
      return keys.map((key) => createPublicKey({ key, format: 'jwk' }));
    },
    /** Publishes a message and returns its webhook request. */
    delivered: async (): Promise<ReceivedRequest> => {
      const id = randomUUID();
      await publish({ queue, id, data: { text: 'é – 12345678901234567890' } });
      await finishedDelivery(queue, id);
      const request = receiver.received(`/${queue}`).find(({ headers }) => headers['webhook-id'] === id);
      if (request === undefined) throw new Error(`${id} did not arrive`);
      return request;
    },
  };
};

const headersOf = ({ headers }: ReceivedRequest): Record<string, string> =>
  z.record(z.string(), z.string()).parse(headers);

/** Whether the official library accepts the signature. */
const verifies = (secret: string, request: ReceivedRequest): boolean => {
  try {
    new Webhook(secret).verify(request.body, headersOf(request));
    return true;
  } catch {
    return false;
  }
};

const verifiesWith = (keys: readonly KeyObject[], request: ReceivedRequest): boolean => {
  const headers = headersOf(request);
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${request.body.toString()}`;
  const signatures = (headers['webhook-signature'] ?? '').split(' ').filter((one) => one.startsWith('v1a,'));
  return signatures.some((one) =>
    keys.some((key) => verify(null, Buffer.from(signed), key, Buffer.from(one.slice(4), 'base64'))),
  );
};

describe('a request of the deployed system', () => {
  it('is signed with the old and the new secret during the grace period, then only with the new one', async () => {
    const { secret: first, rotate, publicKeys, delivered } = await newSubscription();
    const second = `whsec_${randomBytes(64).toString('base64')}`;
    expect(await rotate({ secret: second, graceSeconds: 3600 })).toEqual({ secret: second });
    const during = await delivered();
    expect([verifies(first, during), verifies(second, during)]).toEqual([true, true]);

    await rotate({ type: 'v1a', graceSeconds: 0 });
    const keys = await publicKeys();
    const after = await delivered();
    expect([verifies(first, after), verifies(second, after)]).toEqual([false, false]);
    expect(verifiesWith(keys, after)).toBe(true);
    expect(verifiesWith(keys, during)).toBe(false);
  });
});
