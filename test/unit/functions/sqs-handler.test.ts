import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { deliveryIdsIn } from '../../../functions/deliver/deliver.ts';
import { messageIdsIn } from '../../../functions/dispatch/ingress-record.ts';
import { sqsHandler } from '../../../shared/adapters/lambda/sqs-handler.ts';
import { powertoolsJournal } from '../../../shared/adapters/log/journal.ts';
import type { RecordHandling } from '../../../shared/adapters/sqs/failed-records.ts';
import { encodeFirstJob, encodeWakeUp } from '../../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../../support/builders.ts';
import { anInvocation, anSqsRecord } from '../../support/sqs-event.ts';
import { anAttempt, SOME_TIME, answered } from '../../support/delivery-builders.ts';
import { aFact } from '../../support/every-fact.ts';
import { captureOutput } from '../adapters/captured-output.ts';
import type { SQSRecord } from 'aws-lambda';

const SECRET = 'planted-secret';
const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };
const throttled = () => Promise.reject(new Error('throttled'));
const returnSooner = (): Promise<void> => Promise.resolve();
let output: ReturnType<typeof captureOutput>;

beforeEach(() => {
  output = captureOutput();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const aJournal = () =>
  powertoolsJournal('deliver', {
    deployment: 'Test',
    version: '1.2.3',
    logLevel: 'info',
    logSuccessSampling: 1,
  });

const faults = () => output.parsed().filter(({ message }) => message === 'fault');

describe('the first successes of a batch', () => {
  it('are logged together at the end, although another record failed', async () => {
    const journal = aJournal();
    const handleRecord = ({ body: subscriptionId }: SQSRecord): Promise<void> => {
      if (subscriptionId === 'none') return throttled();
      const attempt = anAttempt({ outcome: 'delivered', result: answered(200) });
      journal.note(aFact('attempt_made', { key: { ...key, subscriptionId }, attempt, status: 'delivered' }));
      return Promise.resolve();
    };
    const handler = sqsHandler(journal, { handleRecord, returnSooner });
    const Records = ['s-1', 'none', 's-2'].map((body) => anSqsRecord(body));
    await handler({ Records }, anInvocation(10_000));
    const attempts = ['s-1', 's-2'].map((id) => [id, 200, 120, SOME_TIME, 40]);
    expect(output.parsed().filter(({ fact }) => fact !== undefined)).toMatchObject([
      { fact: 'attempts_delivered', messageId: 'm-1', attempts },
    ]);
  });
});

describe('a record that failed', () => {
  const Records = ['good', 'slow', 'bad'].map((body) => anSqsRecord(body));
  const idsOf = (bodies: readonly string[]) =>
    Records.filter(({ body }) => bodies.includes(body)).map(({ messageId }) => messageId);

  it('is made visible again at once, while another record of its batch is still processed', async () => {
    const slow = Promise.withResolvers<undefined>();
    const returned: string[] = [];
    const handler = sqsHandler(aJournal(), {
      handleRecord: async ({ body }) => {
        if (body === 'slow') await slow.promise;
        if (body === 'bad') await throttled();
      },
      returnSooner: ({ messageId }) => {
        returned.push(messageId);
        slow.resolve(undefined);
        return Promise.resolve();
      },
    });
    const failures = idsOf(['bad']);
    expect(await handler({ Records }, anInvocation(10_000))).toEqual({
      batchItemFailures: failures.map((itemIdentifier) => ({ itemIdentifier })),
    });
    expect(returned).toEqual(failures);
  });

  it('is reported with both faults if its visibility cannot be changed', async () => {
    const handler = sqsHandler(aJournal(), {
      handleRecord: throttled,
      returnSooner: () => Promise.reject(new Error('SQS does not respond')),
    });
    const response = await handler({ Records }, anInvocation(10_000));
    expect(response.batchItemFailures).toHaveLength(3);
    expect(faults()).toHaveLength(6);
    expect(faults()).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({ message: 'SQS does not respond' }) as unknown,
      }),
    );
  });
});

describe('a record received ten times, which may crash its invocation', () => {
  const [suspect, other, late] = [anSqsRecord('suspect', 10), anSqsRecord('other'), anSqsRecord('late', 99)];

  const handled = async (records: readonly SQSRecord[], failing?: string): Promise<string[]> => {
    const log: string[] = [];
    const note = (what: string, { body }: SQSRecord) => void log.push(`${what} ${body}`);
    const handler = sqsHandler(aJournal(), {
      handleRecord: async (record) => {
        note('begin', record);
        await Promise.resolve();
        if (record.body === failing) await throttled();
      },
      returnSooner,
      acknowledge: (record) => {
        note('delete', record);
        return Promise.resolve();
      },
    });
    const { batchItemFailures } = await handler({ Records: [...records] }, anInvocation(10_000));
    return [...log, ...batchItemFailures.map(() => 'failed')];
  };

  it('begins alone, after the others of its batch are handled and deleted', async () => {
    const deleted = ['delete other', 'begin suspect', 'delete suspect', 'begin late', 'delete late'];
    expect(await handled([suspect, late, other])).toEqual(['begin other', ...deleted]);
  });

  it('begins although another failed', async () => {
    expect(await handled([other, suspect], 'other')).toEqual([
      'begin other',
      'begin suspect',
      'delete suspect',
      'failed',
    ]);
  });

  it('changes nothing where it is alone, or not in the batch', async () => {
    expect(await handled([suspect])).toEqual(['begin suspect']);
    expect(await handled([other, anSqsRecord('another', 9)])).toEqual(['begin other', 'begin another']);
  });
});

describe('the fault of a record', () => {
  const job = encodeFirstJob({
    kind: 'job',
    key,
    attempt: 1,
    acceptedAt: 1,
    body: { kind: 'inline', message: aMessage({ data: JSON.stringify(SECRET) }) },
  });
  const wakeUp = encodeWakeUp({ kind: 'wake_up', key, attempt: 2, dueAt: 1 });
  const ingress = JSON.stringify({ queue: 'orders', id: 'm-1', data: SECRET });
  const idsOfMessage: RecordHandling['idsOf'] = (record) => messageIdsIn(record, {});
  const message = { queue: 'orders', messageId: 'm-1' };
  const delivery = { ...message, subscriptionId: 's-1' };

  it.each<[string, string, RecordHandling['idsOf'], { queue?: string }]>([
    ['the SQS message', '{}', undefined, {}],
    ['the delivery of a job', job, deliveryIdsIn, delivery],
    ['the delivery of a wake-up', wakeUp, deliveryIdsIn, delivery],
    ['the message of an ingress message', ingress, idsOfMessage, message],
    ['no delivery that cannot be parsed', `${SECRET} is not JSON`, deliveryIdsIn, {}],
    ['no message that cannot be parsed', SECRET, idsOfMessage, {}],
  ])('names %s, and contains none of its data', async (_, body, idsOf, ids) => {
    const handling = { handleRecord: throttled, returnSooner, ...(idsOf !== undefined && { idsOf }) };
    const record = anSqsRecord(body);
    await sqsHandler(aJournal(), handling)({ Records: [record] }, anInvocation(10_000));
    expect(output.lines.join('\n')).not.toContain(SECRET);
    const error = { message: 'throttled' };
    expect(faults()).toMatchObject([{ sqsMessageId: record.messageId, error, ...ids }]);
    expect(faults()[0]?.['queue']).toBe(ids.queue);
  });
});
