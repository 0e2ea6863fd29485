import { afterEach, describe, expect, it, vi } from 'vitest';
import { deliveryIdsIn } from '../../../functions/deliver/deliver-record.ts';
import { messageIdsIn } from '../../../functions/dispatch/dispatch-record.ts';
import { sqsHandler } from '../../../functions/sqs-handler.ts';
import { powertoolsJournal } from '../../../shared/adapters/powertools-journal.ts';
import { encodeDeliveryJob, encodeWakeUp } from '../../../shared/messages/delivery-job.ts';
import { aMessage } from '../../support/builders.ts';
import { anInvocation, anSqsRecord } from '../../support/deliver-on-loopback.ts';
import { captureOutput } from '../adapters/captured-output.ts';

const SECRET = 'planted-secret';
const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };

afterEach(() => {
  vi.restoreAllMocks();
});

/** What is logged of a record whose function throws. */
const faultsOf = async (body: string, idsOf?: Parameters<typeof sqsHandler>[2]) => {
  const output = captureOutput();
  const journal = powertoolsJournal('deliver', {
    deployment: 'Test',
    version: '1.2.3',
    logLevel: 'info',
    logSuccessSampling: 1,
  });
  const handler = sqsHandler(journal, () => Promise.reject(new Error('throttled')), idsOf);
  const record = anSqsRecord(body);
  await handler({ Records: [record] }, anInvocation(10_000));
  expect(output.lines.join('\n')).not.toContain(SECRET);
  return { record, faults: output.parsed().filter(({ message }) => message === 'fault') };
};

describe('the fault of a record', () => {
  it('names the SQS message', async () => {
    const { record, faults } = await faultsOf('{}');
    expect(faults).toMatchObject([{ sqsMessageId: record.messageId, error: { message: 'throttled' } }]);
  });

  it.each([
    [
      'job',
      encodeDeliveryJob({
        kind: 'job',
        key,
        attempt: 1,
        acceptedAt: 1,
        body: { kind: 'inline', message: aMessage({ data: JSON.stringify(SECRET) }) },
      }),
    ],
    ['wake-up', encodeWakeUp({ kind: 'wake_up', key, attempt: 2, dueAt: 1 })],
  ])('names the delivery of a %s, and shows nothing of its data', async (_, body) => {
    const { faults } = await faultsOf(body, deliveryIdsIn);
    expect(faults).toMatchObject([{ queue: 'orders', messageId: 'm-1', subscriptionId: 's-1' }]);
  });

  it('names the message of an ingress message, and shows nothing of its data', async () => {
    const body = JSON.stringify({ queue: 'orders', id: 'm-1', data: SECRET });
    const { faults } = await faultsOf(body, messageIdsIn({}));
    expect(faults).toMatchObject([{ queue: 'orders', messageId: 'm-1' }]);
  });

  it('names what can be named where the record cannot be read', async () => {
    const { record, faults } = await faultsOf(`${SECRET} is not JSON`, deliveryIdsIn);
    expect(faults).toMatchObject([{ sqsMessageId: record.messageId }]);
    expect(faults[0]).not.toHaveProperty('queue');
    expect((await faultsOf(SECRET, messageIdsIn({}))).faults[0]).not.toHaveProperty('queue');
  });
});
