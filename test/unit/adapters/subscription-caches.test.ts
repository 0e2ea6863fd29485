import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { dynamoSubscriptions } from '../../../shared/adapters/dynamodb/subscriptions.ts';
import { queueItemOf, subscriptionItemOf } from '../../../shared/adapters/dynamodb/subscription-item.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { awsStub, type AwsStub } from '../../support/aws-stub.ts';

/** The maximum size of options. */
const post_data = 'x'.repeat(65_000);

/** Each takes twice that in memory: 64 MiB hold 516 of them. */
const MORE_THAN_FIT = 520;

const clock = { now: () => 0 };
let stub: AwsStub;

const itemOf = (sk: string) =>
  sk === 'META'
    ? queueItemOf(aQueue())
    : subscriptionItemOf(aSubscription({ id: sk.slice('SUB#'.length), options: { post_data } }));

beforeAll(async () => {
  stub = await awsStub(({ body }) => {
    const { Key } = JSON.parse(body) as { Key: { sk: { S: string } } };
    return { body: JSON.stringify({ Item: marshall(itemOf(Key.sk.S)) }) };
  });
});
afterAll(() => stub.close());

describe('the cache of the subscriptions table', () => {
  it('is limited by memory and evicts the oldest entries first', async () => {
    const client = dynamoClient(stub.config);
    const subscriptions = dynamoSubscriptions(client, 'table', { clock, cacheSeconds: 5 });
    const requestsFor = async (id: string): Promise<number> => {
      const before = stub.requests.length;
      await subscriptions.find('orders', id, 'cached');
      return stub.requests.length - before;
    };
    for (let index = 0; index < MORE_THAN_FIT; index += 1) await requestsFor(`s-${index}`);
    expect(await requestsFor(`s-${MORE_THAN_FIT - 1}`)).toBe(0);
    expect(await requestsFor('s-100')).toBe(0);
    expect(await requestsFor('s-0')).toBe(1);
  });
});
