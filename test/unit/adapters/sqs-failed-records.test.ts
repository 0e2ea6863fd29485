import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContendedError } from '../../../shared/domain/contention.ts';
import { sqsClient } from '../../../shared/adapters/sqs/client.ts';
import { receivedRecords, reportingFailures } from '../../../shared/adapters/sqs/failed-records.ts';
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
  const { returnSooner } = receivedRecords({
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
    [2, 7, 444].map((VisibilityTimeout) => ({
      QueueUrl: queueUrls[1],
      ReceiptHandle: 'receipt',
      VisibilityTimeout,
    })),
  );
});

describe('a message that failed five times while another of its queue succeeded', () => {
  const failing = async (fault: Error, { others = 1, receives = 5, canSend = true } = {}) => {
    const [letters, returns, notes]: [unknown[], unknown[], unknown[]] = [[], [], []];
    const handle = reportingFailures(
      { fault: () => undefined, note: (fact) => void notes.push(fact) },
      {
        handleRecord: ({ body }) => (body === 'good' ? Promise.resolve() : Promise.reject(fault)),
        returnSooner: (_, error) => Promise.resolve(void returns.push(error)),
        deadLetters: {
          send: (letter, reason) => {
            if (canSend) letters.push({ ...letter, reason });
            return canSend ? Promise.resolve() : Promise.reject(new Error('SQS is down'));
          },
        },
      },
    );
    const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 1_000 };
    for (let index = 0; index < others; index += 1) await handle(anSqsRecord('good', 1), context);
    const outcome = await handle(anSqsRecord('bad', receives), context).then(
      () => 'handled',
      () => 'returned',
    );
    return { outcome, letters, returns, notes };
  };

  it('becomes a dead letter with a reason, and counts as handled', async () => {
    const { outcome, letters, returns, notes } = await failing(new TypeError('no such property'));
    expect(outcome).toBe('handled');
    expect(letters).toMatchObject([{ body: 'bad', reason: 'failed_repeatedly' }]);
    expect(notes).toMatchObject([{ fact: 'dead_lettered', reason: 'failed_repeatedly' }]);
    expect(returns).toEqual([]);
  });

  const serviceFault = (name: string) =>
    new DynamoDBServiceException({ name, $fault: 'client', $metadata: {}, message: name });

  it('does so where AWS refuses what it contains', async () => {
    const fault = new Error('not written', { cause: serviceFault('ValidationException') });
    expect((await failing(fault)).outcome).toBe('handled');
  });

  it.each([
    ['AWS throttles', serviceFault('ProvisionedThroughputExceededException')],
    ['AWS denies the call', serviceFault('AccessDeniedException')],
    [
      'AWS is down, for a part of it',
      new AggregateError([new TypeError('x'), serviceFault('InternalServerError')]),
    ],
    ['nothing answers', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    [
      'a call times out',
      new Error('call', { cause: Object.assign(new Error('x'), { name: 'TimeoutError' }) }),
    ],
    ['writes contend', new ContendedError('delivery')],
    ['it is not finished', new UnfinishedError()],
  ])('comes back where %s', async (_, fault) => {
    expect(await failing(fault)).toMatchObject({ outcome: 'returned', letters: [], returns: [fault] });
  });

  it('comes back while no other message of the queue succeeds', async () => {
    expect(await failing(new TypeError('bug'), { others: 0 })).toMatchObject({
      outcome: 'returned',
      letters: [],
    });
  });

  it('comes back at its fourth failure, and where the dead letter cannot be sent', async () => {
    const fault = new TypeError('bug');
    expect(await failing(fault, { receives: 4 })).toMatchObject({ outcome: 'returned', letters: [] });
    expect(await failing(fault, { canSend: false })).toMatchObject({ outcome: 'returned', returns: [fault] });
  });
});
