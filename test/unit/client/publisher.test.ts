import { SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';
import { ingressStub, type Judge, type SentEntry } from '../../support/ingress-stub.ts';
import { PublishError, InvalidMessageError, MessageTooLargeError } from '../../../client/errors.ts';
import { Publisher } from '../../../client/publisher.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** A publisher to an SQS stub that refuses what `judge` says. */
const publisherTo = async <Events extends object = Record<string, unknown>>(judge?: Judge) => {
  const { batches, config, queueUrl, close } = await ingressStub(judge);
  onTestFinished(close);
  const client = new SQSClient(config);
  return { publisher: new Publisher<Events>({ queueUrl, client }), batches, client };
};

/** A publisher to an SQS that gives every request this answer. */
const publisherToStub = async (answer: StubAnswer) => {
  const { config, close } = await awsStub(() => answer);
  onTestFinished(close);
  return new Publisher({ queueUrl: config.endpoint, client: new SQSClient(config) });
};

const bodyOf = ({ MessageBody }: SentEntry): unknown => JSON.parse(MessageBody);

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ queue: 'orders', id: `order-${index}`, data: {} }));

const PASSING = { Code: 'InternalError', SenderFault: false };

describe('a publisher', () => {
  it('names the queue as message group, so that a backlog of one does not delay the others', async () => {
    const { publisher, batches } = await publisherTo();
    await publisher.publish({ queue: 'orders', data: 1 });
    expect(batches.flat()[0]?.MessageGroupId).toBe('orders');
  });

  it('gives each message another id before the first try, so that a repeat is the same message', async () => {
    const { publisher, batches } = await publisherTo((_, number) => (number === 0 ? PASSING : undefined));
    const { id } = await publisher.publish({ queue: 'orders', data: null });
    const sent = { queue: 'orders', id, data: null };
    expect(batches.map((batch) => batch.map(bodyOf))).toEqual([[sent], [sent]]);
    expect((await publisher.publish({ queue: 'orders', data: null })).id).not.toBe(id);
  });

  it('returns the id under which a message with an unusual id is recorded', async () => {
    const { publisher } = await publisherTo();
    expect((await publisher.publish({ queue: 'orders', id: 'order 17/a', data: 1 })).id).toMatch(/^x_/);
  });

  it('publishes a reference to data in a bucket', async () => {
    const { publisher, batches } = await publisherTo();
    const message = { queue: 'orders', id: 'a', dataRef: { bucket: 'shop', key: 'events/1.json' } };
    await publisher.publish(message);
    expect(batches.flat().map(bodyOf)).toEqual([message]);
  });
});

describe('a batch of any length', () => {
  it('is sent ten at a time, and returns the ids in order', async () => {
    const { publisher, batches } = await publisherTo();
    const published = await publisher.publishBatch(many(23));
    expect(published.map(({ id }) => id)).toEqual(many(23).map(({ id }) => id));
    expect(batches.map(({ length }) => length).toSorted()).toEqual([10, 10, 3]);
  });

  it('reports item by item what SQS refuses for good, and sends the rest once', async () => {
    const refused = { Code: 'InvalidMessageContents', SenderFault: true };
    const { publisher, batches } = await publisherTo(({ MessageBody }) =>
      MessageBody.includes('order-3') ? refused : undefined,
    );
    const failure = await publisher.publishBatch(many(12)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PublishError);
    expect(failure).toMatchObject({
      failed: [{ index: 3, id: 'order-3', reason: 'InvalidMessageContents' }],
      published: 11,
      message: '1 of 12 messages was not sent: InvalidMessageContents',
    });
    expect(batches.flat()).toHaveLength(12);
  });

  it('reports in the order of the call, a message that SQS fails to store after four tries', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { publisher, batches } = await publisherTo(({ MessageBody }) => {
      if (MessageBody.includes('order-3"')) return PASSING;
      return MessageBody.includes('order-8"') ? { Code: 'Invalid', SenderFault: true } : undefined;
    });
    await expect(publisher.publishBatch(many(9))).rejects.toMatchObject({
      failed: [
        { index: 3, reason: 'InternalError' },
        { index: 8, reason: 'Invalid' },
      ],
    });
    expect(batches.map(({ length }) => length)).toEqual([9, 1, 1, 1]);
  });

  it('reports every message of a call that SQS refuses, with its error as cause', async () => {
    const body = JSON.stringify({ __type: 'AccessDenied', message: 'no sqs:SendMessage' });
    const publisher = await publisherToStub({ status: 403, body });
    await expect(publisher.publishBatch(many(2))).rejects.toMatchObject({
      failed: [
        { index: 0, id: 'order-0', reason: 'AccessDenied' },
        { index: 1, id: 'order-1', reason: 'AccessDenied' },
      ],
      cause: { message: 'no sqs:SendMessage' },
    });
  });

  it('is nothing to send if it is empty', async () => {
    const { publisher, batches } = await publisherTo();
    expect(await publisher.publishBatch([])).toEqual([]);
    expect(batches).toEqual([]);
  });
});

// An interface, because it has no index signature.
interface Events {
  'order.created': { total: number };
  'order.closed': null;
}

it('a publisher of typed events takes the data of each type only', async () => {
  const { publisher, batches } = await publisherTo<Events>();
  await publisher.publishBatch([
    { queue: 'orders', type: 'order.created', data: { total: 1 } },
    { queue: 'orders', type: 'order.closed', data: null, ttl: undefined },
    { queue: 'orders', type: 'order.created', dataRef: { bucket: 'shop', key: 'a', versionId: undefined } },
    // @ts-expect-error: the data of another type
    { queue: 'orders', type: 'order.created', data: null },
    // @ts-expect-error: no such type
    { queue: 'orders', type: 'order.lost', data: null },
    // @ts-expect-error: the type is missing
    { queue: 'orders', data: null },
    // @ts-expect-error: no such field
    { queue: 'orders', type: 'order.closed', data: null, delaySeconds: 60 },
  ]);
  expect(batches.flat()).toHaveLength(7);
});

describe('an abort', () => {
  const reason = new Error('shutting down');
  const message = { queue: 'orders', id: 'a', data: 1 };

  it('before the call sends nothing', async () => {
    const { publisher, batches } = await publisherTo();
    await expect(publisher.publish(message, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(batches).toEqual([]);
  });

  /** Aborts as soon as SQS has answered. */
  const abortedAfterAnAnswer = async (judge?: Judge) => {
    const { publisher, batches, client } = await publisherTo(judge);
    const abort = new AbortController();
    client.middlewareStack.add(
      (next) => async (request) => {
        const answer = await next(request);
        abort.abort(reason);
        return answer;
      },
      { step: 'initialize' },
    );
    return { published: publisher.publish(message, { signal: abort.signal }), batches };
  };

  it('between two tries ends the call without a wait', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1_000);
    const { published, batches } = await abortedAfterAnAnswer(() => PASSING);
    await expect(published).rejects.toThrow('shutting down');
    expect(batches).toHaveLength(1);
  });

  it('after SQS has stored the message changes nothing', async () => {
    const { published } = await abortedAfterAnAnswer();
    expect(await published).toEqual({ id: 'a' });
  });

  it('while SQS is silent ends the call', async () => {
    const abort = new AbortController();
    const publisher = await publisherToStub('silence');
    const published = publisher.publish(message, { signal: abort.signal });
    abort.abort(reason);
    await expect(published).rejects.toThrow('shutting down');
  });
});

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
    const { publisher, batches } = await publisherTo();
    // @ts-expect-error: a caller in JavaScript
    const failure = await publisher.publishBatch([right, message]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidMessageError);
    expect(failure).toMatchObject({ index: 1, field, rule: expect.any(String) as string });
    expect(String(failure)).toMatch(new RegExp(`^InvalidMessageError: Message 1: ${field} must be `));
    expect(batches).toEqual([]);
  });

  it('also if it is larger than SQS takes, with the way out', async () => {
    const { publisher, batches } = await publisherTo();
    const big = (length: number) => ({ ...right, id: 'big', data: 'é'.padEnd(length - 1) });
    const envelope = '{"queue":"orders","id":"big","data":""}'.length;
    await publisher.publish(big(1_048_576 - envelope));
    expect(batches).toHaveLength(1);
    const tooBig = publisher.publishBatch([right, big(1_048_577 - envelope)]);
    const failure = await tooBig.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MessageTooLargeError);
    expect(failure).toMatchObject({ index: 1, id: 'big', bytes: 1_048_577 });
    expect(String(failure)).toMatch(/^MessageTooLargeError: Message 1 \(big\) has 1048577 bytes.+dataRef/);
    expect(batches).toHaveLength(1);
  });

  it('also if it is larger once SQS gets U+FFFF escaped', async () => {
    const { publisher, batches } = await publisherTo();
    const message = { ...right, data: '\uffff'.repeat(200_000) };
    await expect(publisher.publish(message)).rejects.toBeInstanceOf(MessageTooLargeError);
    expect(batches).toEqual([]);
  });

  it.each(['orders', '', 'arn:aws:sqs:eu-central-1:111122223333:ingress'])(
    'and the queueUrl %j',
    (queueUrl) => {
      expect(() => new Publisher({ queueUrl })).toThrow('queueUrl must be the URL of the ingress queue');
    },
  );
});
