import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dynamoClient, singleRequestClient } from '../../../shared/adapters/dynamodb/client.ts';
import { dynamoQueueStatistics } from '../../../shared/adapters/dynamodb/queue-statistics.ts';
import { noCounters } from '../../../shared/domain/delivery/statistics.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';

const failing = (status: number, type: string): StubAnswer => ({
  status,
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: 'no' }),
});

describe('adding counters in DynamoDB', () => {
  let stub: AwsStub;
  let answer: StubAnswer;

  beforeEach(async () => {
    stub = await awsStub(() => answer);
  });
  afterEach(async () => {
    await stub.close();
  });

  /** Of the calls of deliveries, with which its alarm counts. */
  const journal = {
    note: () => {
      throw new Error('A lost chart is no failed call.');
    },
  };

  const add = () => {
    const counters = noCounters();
    counters.counts.messages = 1;
    const { endpoint, region, credentials } = stub.config;
    const client = singleRequestClient(dynamoClient({ endpoint, region, credentials, journal }));
    const statistics = dynamoQueueStatistics(client, 'table');
    return statistics.add({ queue: 'orders', at: 0, counters, expiresAt: 1 });
  };

  it.each(['ThrottlingException', 'ProvisionedThroughputExceededException', 'AccessDeniedException'])(
    'says that they were certainly not added: %s',
    async (type) => {
      answer = failing(400, type);
      expect(await add()).toMatchObject({ kind: 'refused', error: { name: type } });
      expect(stub.requests).toHaveLength(1);
    },
  );

  it.each<[string, StubAnswer]>([
    ['an internal error', failing(500, 'InternalServerError')],
    ['a lost answer', 'hang_up'],
  ])('throws if they may have been added: %s', async (_what, failure) => {
    answer = failure;
    await expect(add()).rejects.toThrow();
    expect(stub.requests).toHaveLength(1);
  });
});
