import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDemoReceiver, type DemoReceiver } from '../../../cli/commands/start/demo/receiver.ts';
import { demoSubscribers } from '../../../cli/commands/start/demo/scenario.ts';
import {
  makeSecret,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { requestFor } from '../../support/request-for.ts';

const [healthy] = demoSubscribers;
if (healthy === undefined) throw new Error('The demo has no subscribers.');

let receiver: DemoReceiver;
const heard: string[] = [];

beforeEach(async () => {
  heard.length = 0;
  receiver = await startDemoReceiver(demoSubscribers, {
    onRequest: (messageId) => heard.push(messageId),
    onDelivered: () => heard.push('taken'),
  });
});

afterEach(() => receiver.close());

const call = async (secrets: readonly SigningSecret[]): Promise<number> => {
  const attempt = { startedAt: Date.now(), userAgent: 'Posthaste/test', secrets };
  const { headers, body } = await requestFor(aMessage(), aSubscription(), attempt);
  return (await fetch(receiver.urlOf(healthy), { method: 'POST', headers, body })).status;
};

describe("the demo's receiver", () => {
  it("counts all requests, and those not signed with the subscriber's secret", async () => {
    const secret = makeSecret('v1', randomBytes);
    receiver.trust(healthy, secretText(secret));
    expect(await call([secret])).toBe(200);
    expect([receiver.requests(healthy, 'message-1'), receiver.unverified(healthy, 'message-1')]).toEqual([
      1, 0,
    ]);
    await call([makeSecret('v1', randomBytes)]);
    await call([]);
    expect([receiver.requests(healthy, 'message-1'), receiver.unverified(healthy, 'message-1')]).toEqual([
      3, 2,
    ]);
    expect(heard.slice(0, 2)).toEqual(['message-1', 'taken']);
  });

  it('counts a request as unverified if it knows no secret of the subscriber', async () => {
    await call([makeSecret('v1', randomBytes)]);
    expect(receiver.unverified(healthy, 'message-1')).toBe(1);
  });
});
