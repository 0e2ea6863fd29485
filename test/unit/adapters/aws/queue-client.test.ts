import { SQS } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { sqsClient } from '../../../../shared/adapters/aws/queue-client.ts';
import { askedOf, ok, stubbedService, targetsOf } from './stubbed-service.ts';

const QueueUrl = 'https://sqs.us-east-1.amazonaws.com/000000000000/queue';
const bytes = Uint8Array.of(0, 255, 128);
const MessageAttributes = {
  queue: { DataType: 'String', StringValue: 'orders' },
  picture: { DataType: 'Binary.png', BinaryValue: bytes },
};
const ATTRIBUTES = { ...MessageAttributes, picture: { DataType: 'Binary.png', BinaryValue: 'AP+A' } };

describe('a message for SQS', () => {
  it('goes to its queue as it is told, bytes among its attributes as base64', async () => {
    const { options, requests } = await stubbedService(ok({ MessageId: '1' }));
    const message = { QueueUrl, MessageBody: 'größer', DelaySeconds: 0, MessageGroupId: 's-1' };
    await sqsClient(options).sendMessage({ ...message, MessageAttributes });
    expect(targetsOf(requests)).toEqual(['AmazonSQS.SendMessage']);
    expect(requests[0]?.headers['content-type']).toBe('application/x-amz-json-1.0');
    expect(askedOf(requests)).toEqual([{ ...message, MessageAttributes: ATTRIBUTES }]);
  });

  it('has no attributes where it was given none', async () => {
    const { options, requests } = await stubbedService(ok({ MessageId: '1' }));
    await sqsClient(options).sendMessage({ QueueUrl, MessageBody: '1', MessageAttributes: undefined });
    expect(askedOf(requests)).toEqual([{ QueueUrl, MessageBody: '1' }]);
  });
});

describe('a message that SQS does not say it has', () => {
  it.each([{}, { MessageId: null }, [], 7, null])('is not sent: %j', async (answer) => {
    const { options } = await stubbedService(ok(answer));
    await expect(sqsClient(options).sendMessage({ QueueUrl, MessageBody: '1' })).rejects.toThrow();
  });
});

describe('a batch for SQS', () => {
  const Entries = [
    { Id: '0', MessageBody: 'a', MessageAttributes },
    { Id: '1', MessageBody: 'b', DelaySeconds: 3 },
  ];

  it('goes to its queue as it is told, bytes among its attributes as base64', async () => {
    const { options, requests } = await stubbedService(ok({ Successful: [] }));
    expect((await sqsClient(options).sendMessageBatch({ QueueUrl, Entries })).Failed).toBeUndefined();
    expect(targetsOf(requests)).toEqual(['AmazonSQS.SendMessageBatch']);
    expect(askedOf(requests)).toEqual([
      { QueueUrl, Entries: [{ ...Entries[0], MessageAttributes: ATTRIBUTES }, Entries[1]] },
    ]);
  });

  it('says which entries failed, and whose fault it was', async () => {
    const Failed = [
      { Id: '0', Code: 'InternalError', SenderFault: false },
      { Id: '1', Code: 'InvalidMessageContents', SenderFault: true, Message: 'no' },
    ];
    const { options } = await stubbedService(ok({ Successful: [], Failed }));
    expect(await sqsClient(options).sendMessageBatch({ QueueUrl, Entries })).toEqual({
      Successful: [],
      // Without its text, which may quote what was sent.
      Failed: Failed.map(({ Id, Code, SenderFault }) => ({ Id, Code, SenderFault })),
    });
  });

  it.each([
    [{ Successful: null, Failed: null }, {}],
    [{ Failed: [{ Id: '0', Code: null }] }, { Failed: [{ Id: '0' }] }],
  ])('takes null for what is absent: %j', async (answer, meant) => {
    const { options } = await stubbedService(ok(answer));
    expect(await sqsClient(options).sendMessageBatch({ QueueUrl, Entries })).toEqual(meant);
  });
});

describe('the attributes of a queue', () => {
  it('are those that were asked for', async () => {
    const Attributes = { ApproximateNumberOfMessages: '3' };
    const { options, requests } = await stubbedService(ok({ Attributes }), ok({}));
    const sqs = sqsClient(options);
    const asked = { QueueUrl, AttributeNames: ['ApproximateNumberOfMessages' as const] };
    expect(await sqs.getQueueAttributes(asked)).toEqual({ Attributes });
    expect((await sqs.getQueueAttributes(asked)).Attributes).toBeUndefined();
    expect(targetsOf(requests)).toEqual(Array(2).fill('AmazonSQS.GetQueueAttributes'));
    expect(askedOf(requests)).toEqual([asked, asked]);
  });
});

describe('what is asked of SQS', () => {
  it('is the same, word for word, as the SDK’s own client asks', async () => {
    const { options, requests } = await stubbedService(ok({ MessageId: '1' }));
    const entries = { QueueUrl, Entries: [{ Id: '0', MessageBody: 'größer', MessageAttributes }] };
    const message = { QueueUrl, MessageBody: 'größer', MessageGroupId: 'g', MessageAttributes };
    for (const sqs of [
      sqsClient(options),
      new SQS({ ...options, md5: false, useQueueUrlAsEndpoint: false }),
    ]) {
      await sqs.sendMessage(message);
      await sqs.sendMessageBatch(entries);
      await sqs.getQueueAttributes({ QueueUrl, AttributeNames: ['All'] });
    }
    const [asked, targets] = [askedOf(requests), targetsOf(requests)];
    expect(asked.slice(0, 3)).toEqual(asked.slice(3));
    expect(targets.slice(0, 3)).toEqual(targets.slice(3));
  });
});
