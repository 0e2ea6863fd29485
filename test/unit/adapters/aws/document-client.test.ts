import { afterEach, describe, expect, it, vi } from 'vitest';
import { documentClient, type DocumentClient } from '../../../../shared/adapters/aws/document-client.ts';
import { askedOf, ok, stubbedService, targetsOf } from './stubbed-service.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const Key = { pk: 'p', sk: 7 };
const KEY = { pk: { S: 'p' }, sk: { N: '7' } };

const clientThatGets = async (...answers: unknown[]) => {
  const { options, requests } = await stubbedService(...answers.map(ok));
  return { client: documentClient(options), requests };
};

/** Every kind of value that we store, and how DynamoDB has it. */
const values = {
  text: 'größer\n"',
  empty: '',
  whole: 12,
  fraction: -0.25,
  large: Number.MAX_SAFE_INTEGER,
  yes: true,
  nothing: null,
  list: ['a', 1, ['b', { c: [] }]],
  map: { inner: { deepest: false }, none: {} },
  texts: new Set(['a', 'b']),
  numbers: new Set([1, 2.5]),
};
const WIRE = {
  text: { S: 'größer\n"' },
  empty: { S: '' },
  whole: { N: '12' },
  fraction: { N: '-0.25' },
  large: { N: '9007199254740991' },
  yes: { BOOL: true },
  nothing: { NULL: true },
  list: { L: [{ S: 'a' }, { N: '1' }, { L: [{ S: 'b' }, { M: { c: { L: [] } } }] }] },
  map: { M: { inner: { M: { deepest: { BOOL: false } } }, none: { M: {} } } },
  texts: { SS: ['a', 'b'] },
  numbers: { NS: ['1', '2.5'] },
};

describe('a value of an item', () => {
  it('is written as DynamoDB has it, and read back as it was', async () => {
    const { client, requests } = await clientThatGets({}, { Item: WIRE });
    await client.put({ TableName: 'table', Item: values });
    expect(askedOf(requests)).toEqual([{ TableName: 'table', Item: WIRE }]);
    expect(await client.get({ TableName: 'table', Key })).toEqual({ Item: values });
  });

  it('that is undefined is left out, at every depth', async () => {
    const { client, requests } = await clientThatGets({});
    const Item = { pk: 'p', gone: undefined, map: { kept: 1, gone: undefined }, list: [1, undefined, 2] };
    await client.put({ TableName: 'table', Item });
    const map = { M: { kept: { N: '1' } } };
    const list = { L: [{ N: '1' }, { N: '2' }] };
    expect(askedOf(requests)).toEqual([{ TableName: 'table', Item: { pk: { S: 'p' }, map, list } }]);
  });

  it('that DynamoDB has no form for is an error, and nothing is asked', async () => {
    const { client, requests } = await clientThatGets({});
    await expect(client.put({ TableName: 'table', Item: { n: 2 ** 60 } })).rejects.toThrow();
    await expect(client.put({ TableName: 'table', Item: { n: Number.NaN } })).rejects.toThrow();
    expect(requests).toEqual([]);
  });
});

describe('a call of DynamoDB', () => {
  it.each<[string, (client: DocumentClient) => Promise<unknown>]>([
    ['GetItem', (client) => client.get({ TableName: 'table', Key })],
    ['PutItem', (client) => client.put({ TableName: 'table', Item: Key })],
    ['UpdateItem', (client) => client.update({ TableName: 'table', Key })],
    ['DeleteItem', (client) => client.delete({ TableName: 'table', Key })],
    ['Query', (client) => client.query({ TableName: 'table' })],
    ['BatchGetItem', (client) => client.batchGet({ RequestItems: {} })],
    ['TransactWriteItems', (client) => client.transactWrite({ TransactItems: [] })],
  ])('is one request, and named: %s', async (operation, call) => {
    const { client, requests } = await clientThatGets({});
    await call(client);
    expect(targetsOf(requests)).toEqual([`DynamoDB_20120810.${operation}`]);
    expect(requests).toMatchObject([
      { method: 'POST', path: '/', headers: { 'content-type': 'application/x-amz-json-1.0' } },
    ]);
  });

  it('says beside its values what it was told to, and nothing that is undefined', async () => {
    const { client, requests } = await clientThatGets({ Attributes: { n: { N: '2' } } });
    const written = await client.update({
      TableName: 'table',
      Key,
      UpdateExpression: 'SET #n = :n',
      ConditionExpression: undefined,
      ExpressionAttributeNames: { '#n': 'n' },
      ExpressionAttributeValues: { ':n': 2 },
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    expect(written).toEqual({ Attributes: { n: 2 } });
    expect(askedOf(requests)).toEqual([
      {
        TableName: 'table',
        Key: KEY,
        UpdateExpression: 'SET #n = :n',
        ExpressionAttributeNames: { '#n': 'n' },
        ExpressionAttributeValues: { ':n': { N: '2' } },
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    ]);
  });
});

describe('a read', () => {
  it('of an item that is not there finds none', async () => {
    const { client } = await clientThatGets({});
    expect((await client.get({ TableName: 'table', Key })).Item).toBeUndefined();
  });

  it('of a page gives its items and where it ends, and goes on from there', async () => {
    const { client, requests } = await clientThatGets(
      { Items: [KEY, WIRE], Count: 2, ScannedCount: 2, LastEvaluatedKey: KEY },
      { Items: [], Count: 0, ScannedCount: 0 },
    );
    const first = await client.query({ TableName: 'table', Limit: 2 });
    expect(first).toEqual({ Items: [Key, values], LastEvaluatedKey: Key });
    const next = { TableName: 'table', ExclusiveStartKey: first.LastEvaluatedKey };
    const last = await client.query(next);
    expect(last.Items).toEqual([]);
    expect(last.LastEvaluatedKey).toBeUndefined();
    expect(askedOf(requests)).toEqual([
      { TableName: 'table', Limit: 2 },
      { TableName: 'table', ExclusiveStartKey: KEY },
    ]);
  });

  it('of many items gives those that were read by table, and the keys of those that were not', async () => {
    const { client, requests } = await clientThatGets(
      { Responses: { one: [KEY], two: [] }, UnprocessedKeys: { two: { Keys: [KEY], ConsistentRead: true } } },
      { Responses: {} },
    );
    const RequestItems = { one: { Keys: [Key] }, two: { Keys: [Key, Key], ConsistentRead: true } };
    expect(await client.batchGet({ RequestItems })).toEqual({
      Responses: { one: [Key], two: [] },
      UnprocessedKeys: { two: { Keys: [Key] } },
    });
    expect(await client.batchGet({ RequestItems })).toEqual({ Responses: {}, UnprocessedKeys: {} });
    expect(askedOf(requests)[0]).toEqual({
      RequestItems: { one: { Keys: [KEY] }, two: { Keys: [KEY, KEY], ConsistentRead: true } },
    });
  });
});

describe('a transaction', () => {
  const TransactItems = [
    { Put: { TableName: 'table', Item: values } },
    {
      Update: {
        TableName: 'table',
        Key,
        UpdateExpression: 'SET a = :a',
        ExpressionAttributeValues: { ':a': [1] },
      },
    },
    { Delete: { TableName: 'table', Key }, Put: undefined },
    { ConditionCheck: { TableName: 'table', Key, ConditionExpression: 'attribute_exists(pk)' } },
  ];

  it('has the values of all its parts as DynamoDB has them', async () => {
    const { client, requests } = await clientThatGets({});
    await client.transactWrite({ TransactItems, ClientRequestToken: 'token' });
    const [, update] = TransactItems;
    expect(askedOf(requests)).toEqual([
      {
        ClientRequestToken: 'token',
        TransactItems: [
          { Put: { TableName: 'table', Item: WIRE } },
          {
            Update: { ...update?.Update, Key: KEY, ExpressionAttributeValues: { ':a': { L: [{ N: '1' }] } } },
          },
          { Delete: { TableName: 'table', Key: KEY } },
          { ConditionCheck: { ...TransactItems[3]?.ConditionCheck, Key: KEY } },
        ],
      },
    ]);
  });

  it('has a token of its own, which its repeats share', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { options, requests } = await stubbedService('hang_up', {}, {});
    const client = documentClient(options);
    await client.transactWrite({ TransactItems: [] });
    await client.transactWrite({ TransactItems: [] });
    const [first, repeated, other] = requests.map(({ body }) => body);
    expect(first).toMatch(/"ClientRequestToken":"[0-9a-f-]{36}"/);
    expect(repeated).toBe(first);
    expect(other).not.toBe(first);
  });
});
