import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, it } from 'vitest';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { cachedEventTypes } from '../../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { ok, serviceThat } from './service.ts';

const ITEM = { pk: 'EVENT_TYPES', sk: 'TYPE#a', v: 1, name: 'a', createdAt: 1, changedAt: 2 };

const cachedTypes = async (item: object | undefined) => {
  const { options, sent } = await serviceThat(ok({ Items: item === undefined ? [] : [marshall(item)] }));
  let now = 0;
  const cache = { clock: { now: () => now }, cacheSeconds: 5 };
  const types = cachedEventTypes(dynamoClient(options), 'table', cache);
  return { types, sent, wait: (milliseconds: number) => void (now += milliseconds) };
};

it.each([
  ['a type', { ...ITEM, schema: '{"type":"object"}' }, { name: 'a', schema: { type: 'object' } }],
  ['the absence of a type', undefined, undefined],
  ['a type that this version cannot read', { ...ITEM, v: 9 }, 'unreadable'],
])('%s is read once in the time of the cache, by all messages of a batch', async (_, item, found) => {
  const { types, sent, wait } = await cachedTypes(item);
  const [first, second] = await Promise.all([types.find('a'), types.find('a')]);
  expect(first).toEqual(second);
  if (found === undefined) expect(first).toBeUndefined();
  else expect(first).toEqual(typeof found === 'string' ? found : expect.objectContaining(found));
  wait(4_999);
  await types.find('a');
  expect(sent()).toHaveLength(1);
  wait(1);
  await types.find('a');
  expect(sent()).toHaveLength(2);
});
