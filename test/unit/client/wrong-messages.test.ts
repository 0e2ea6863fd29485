import { SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it, vi } from 'vitest';
import { InvalidMessageError, MessageTooLargeError, Publisher } from '../../../client/index.ts';

const publisherWithSpy = () => {
  const client = new SQSClient({ region: 'eu-central-1' });
  const send = vi.spyOn(client, 'send').mockImplementation(() => ({ Successful: [{ Id: '0' }] }));
  return { publisher: new Publisher({ queueUrl: 'https://sqs.test/ingress', client }), send };
};

describe('a wrong message is refused before anything is sent', () => {
  const right = { queue: 'orders', data: 1 };
  it.each([
    ['message', null],
    ['queue', { ...right, queue: 'two words' }],
    ['id', { ...right, id: '' }],
    ['id', { ...right, id: 'confirm_17' }],
    ['type', { ...right, type: 'x'.repeat(257) }],
    ['ttl', { ...right, ttl: 0 }],
    ['ttl', { ...right, ttl: 1.5 }],
    ['delay', { ...right, delay: 901 }],
    ['data', { queue: 'orders', data: undefined }],
    ['data', { queue: 'orders', data: 1n }],
    ['dataRef', { queue: 'orders', dataRef: { bucket: '', key: 'a' } }],
  ])('%s of %o', async (field, message) => {
    const { publisher, send } = publisherWithSpy();
    // @ts-expect-error: a caller in JavaScript
    const failure = await publisher.publishBatch([right, message]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidMessageError);
    expect(failure).toMatchObject({ index: 1, field, rule: expect.any(String) as string });
    expect(String(failure)).toMatch(new RegExp(`^InvalidMessageError: Message 1: ${field} must be `));
    expect(send).not.toHaveBeenCalled();
  });

  it('also if it is larger than SQS takes, with the way out', async () => {
    const { publisher, send } = publisherWithSpy();
    const big = (length: number) => ({ ...right, id: 'big', data: 'x'.repeat(length) });
    const envelope = '{"queue":"orders","id":"big","data":""}'.length;
    await publisher.publish(big(1_048_576 - envelope));
    expect(send).toHaveBeenCalledOnce();
    const failure = await publisher
      .publishBatch([right, big(1_048_577 - envelope)])
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MessageTooLargeError);
    expect(failure).toMatchObject({ index: 1, id: 'big', bytes: 1_048_577 });
    expect(String(failure)).toMatch(/^MessageTooLargeError: Message 1 \(big\) has 1048577 bytes.+dataRef/);
    expect(send).toHaveBeenCalledOnce();
  });

  it('also if it is larger once SQS gets U+FFFF escaped', async () => {
    const { publisher, send } = publisherWithSpy();
    const message = { ...right, data: '\uffff'.repeat(200_000) };
    await expect(publisher.publish(message)).rejects.toBeInstanceOf(MessageTooLargeError);
    expect(send).not.toHaveBeenCalled();
  });

  it.each(['orders', '', 'arn:aws:sqs:eu-central-1:111122223333:ingress'])(
    'and the queueUrl %j',
    (queueUrl) => {
      expect(() => new Publisher({ queueUrl })).toThrow('queueUrl must be the URL of the ingress queue');
    },
  );
});
