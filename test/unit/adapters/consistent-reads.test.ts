import { describe, expect, it } from 'vitest';
import { dynamoDeliveries } from '../../../shared/adapters/dynamodb/deliveries.ts';
import { dynamoDeliveryListings } from '../../../shared/adapters/dynamodb/delivery-listings.ts';
import { dynamoMessageRecords } from '../../../shared/adapters/dynamodb/message-records.ts';
import { dynamoRegistry } from '../../../shared/adapters/dynamodb/subscription-registry.ts';
import { dynamoSubscriptions } from '../../../shared/adapters/dynamodb/subscriptions.ts';
import { interruptedClient } from '../../support/dynamo-clients.ts';

const inputs: unknown[] = [];
const nowhere = {
  endpoint: 'http://127.0.0.1:9',
  region: 'us-east-1',
  accessKeyId: 'test',
  secretAccessKey: 'test',
};
const client = interruptedClient(nowhere, (_, input) => {
  inputs.push(input);
  return Promise.reject(new Error('nowhere'));
});
const clock = { now: () => 0, sleep: () => Promise.resolve() };
const deliveries = dynamoDeliveries(client, 'table');
const listings = dynamoDeliveryListings(client, 'table', { sleep: clock.sleep, random: () => 0 });
const messageRecords = dynamoMessageRecords(client, 'table');
const registry = dynamoRegistry(client, 'table', clock);
const subscriptions = dynamoSubscriptions(client, 'table', { clock, cacheSeconds: 5 });
const message = { queue: 'q', messageId: 'm' };

describe('a read that a decision depends on', () => {
  it.each([
    ['a delivery', () => deliveries.find({ ...message, subscriptionId: 's', bucket: 0 })],
    ['the deliveries of a message', () => listings.ofMessage({ key: message, buckets: 1 }, { limit: 1 })],
    ['the status counts of a message', () => listings.tally({ key: message, buckets: 1 })],
    ['a message', () => messageRecords.find(message)],
    ['a list of subscriptions', () => subscriptions.page('q', 'fresh')],
    ['a list of subscriptions to be cached', () => subscriptions.page('q', 'cached')],
    ['a subscription', () => subscriptions.find('q', 's', 'fresh')],
    ['a queue for administration', () => registry.findQueue('q')],
    ['a subscription for administration', () => registry.findSubscription('q', 's')],
    ['a page of subscriptions', () => registry.listSubscriptions('q', { limit: 1 })],
    ['a search of subscriptions', () => registry.listSubscriptions('q', { limit: 1 }, 'text')],
    ['a queue that is being deleted', () => registry.removeDeletedQueue('q', () => true)],
  ])('is strongly consistent: %s', async (_, read) => {
    inputs.length = 0;
    await expect(read()).rejects.toThrow('nowhere');
    expect(inputs.length).toBeGreaterThan(0);
    for (const input of inputs) expect(input).toMatchObject({ TableName: 'table', ConsistentRead: true });
  });
});
