import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { earlyReturn } from '../../../shared/adapters/sqs/failed-records.ts';
import { UnfinishedError } from '../../../shared/domain/receives.ts';
import { awsStub, type AwsStub } from '../../support/aws-stub.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';

let stub: AwsStub;

beforeEach(async () => {
  stub = await awsStub(() => ({ body: '{}' }));
});
afterEach(() => stub.close());

const returned = async (error: Error, receiveCounts: readonly number[]): Promise<string[]> => {
  const queueUrls = ['retry', 'delivery'].map((name) => `${stub.config.endpoint}/000000000000/${name}`);
  const returnSooner = earlyReturn({
    sqs: sqsClient(stub.config),
    queues: queueUrls.map((url) => ({ url })),
    random: () => 0.5,
  });
  for (const receiveCount of receiveCounts) await returnSooner(anSqsRecord('{}', receiveCount), error);
  return queueUrls;
};

it('makes an unfinished message visible at once, however often it was received', async () => {
  await returned(new UnfinishedError(), [1, 20]);
  expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { VisibilityTimeout: 0 },
    { VisibilityTimeout: 0 },
  ]);
});

it('makes a failed message visible on its queue after a delay that grows with each receive', async () => {
  const queueUrls = await returned(new Error('DynamoDB is down'), [1, 3, 20]);

  expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
    [2, 6, 38].map((VisibilityTimeout) => ({
      QueueUrl: queueUrls[1],
      ReceiptHandle: 'receipt',
      VisibilityTimeout,
    })),
  );
});
