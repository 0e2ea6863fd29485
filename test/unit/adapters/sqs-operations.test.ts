import { describe, expect, it, onTestFinished } from 'vitest';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { sqsOperations } from '../../../shared/adapters/sqs/queues.ts';
import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';

const operation: Operation = { kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 1 };

const operationsAnswered = async (answer: StubAnswer) => {
  const stub = await awsStub(() => answer);
  onTestFinished(stub.close);
  const queueUrl = `${stub.config.endpoint}/000000000000/operation`;
  const sqs = sqsClient(stub.config);
  return { stub, queueUrl, operations: sqsOperations(sqs, queueUrl) };
};

describe('an operation by SQS', () => {
  it('goes to the operation queue, at once or delayed, grouped by its queue', async () => {
    const { stub, queueUrl, operations } = await operationsAnswered({
      body: JSON.stringify({ MessageId: '1' }),
    });
    await operations.send(operation);
    await operations.send(operation, 120);
    expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      [0, 120].map((DelaySeconds) => ({
        QueueUrl: queueUrl,
        MessageBody: encodeOperation(operation),
        DelaySeconds,
        MessageGroupId: 'orders',
      })),
    );
  });

  it('that could not be sent is an error', async () => {
    const { operations } = await operationsAnswered({
      status: 500,
      headers: { 'x-amzn-errortype': 'InternalError', 'content-type': 'application/json' },
      body: JSON.stringify({ Message: 'from the test' }),
    });
    await expect(operations.send(operation)).rejects.toThrow('from the test');
  });

  it.each([{}, { MessageId: null }])('that SQS does not confirm is an error: %j', async (answer) => {
    const { operations } = await operationsAnswered({ body: JSON.stringify(answer) });
    await expect(operations.send(operation)).rejects.toMatchObject({
      name: 'MessagesNotSentError',
      codes: ['NotConfirmed'],
    });
  });
});
