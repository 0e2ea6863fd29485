import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsQueueDepths } from '../../../shared/adapters/sqs/queues.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';

let stub: AwsStub;

afterEach(() => stub.close());

const requestSchema = z.object({ QueueUrl: z.string(), AttributeNames: z.array(z.string()) });

/** Depths of two queues, from an SQS with an answer for each URL. */
const depths = async (answers: Record<string, StubAnswer>) => {
  stub = await awsStub(
    ({ body }) => answers[requestSchema.parse(JSON.parse(body)).QueueUrl] ?? { status: 500 },
  );
  return sqsQueueDepths(sqsClient(stub.config), {
    ingress: 'https://sqs.test/in',
    retry: 'https://sqs.test/re',
  });
};

const attributes = (Attributes?: Record<string, string>): StubAnswer => ({
  headers: { 'content-type': 'application/x-amz-json-1.0' },
  body: JSON.stringify({ Attributes }),
});

describe('the depths of queues', () => {
  it('count visible and in-flight messages, and delayed ones separately', async () => {
    const queues = await depths({
      'https://sqs.test/in': attributes({
        ApproximateNumberOfMessages: '1',
        ApproximateNumberOfMessagesDelayed: '20',
        ApproximateNumberOfMessagesNotVisible: '300',
      }),
      'https://sqs.test/re': attributes(),
    });
    expect(await queues.approximate()).toEqual({
      ingress: { waiting: 301, delayed: 20 },
      retry: { waiting: 0, delayed: 0 },
    });
    expect(stub.requests).toHaveLength(2);
  });

  it('are not returned if one queue cannot be read', async () => {
    const queues = await depths({
      'https://sqs.test/in': attributes(),
      'https://sqs.test/re': { status: 403 },
    });
    await expect(queues.approximate()).rejects.toThrow();
  });
});
