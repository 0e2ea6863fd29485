import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeFirstJob } from '../../../shared/wire/jobs/delivery-job.ts';
import { encodeOperation } from '../../../shared/wire/jobs/operation.ts';
import { aMessage } from '../../support/builders.ts';
import { completeEnvironment, QUEUE } from '../../support/complete-environment.ts';
import { aDeliveryKey } from '../../support/delivery-builders.ts';
import { awsStub, type AwsStub } from '../../support/aws-stub.ts';
import { turnsUntil } from '../../support/eventually.ts';
import { anSqsRecord } from '../../support/sqs-event.ts';
import { captureOutput } from '../adapters/captured-output.ts';

let aws: AwsStub;

/** A stub of AWS that accepts every request and never responds. */
beforeEach(async () => {
  captureOutput();
  aws = await awsStub(() => 'silence');
  const environment = {
    ...completeEnvironment,
    AWS_ENDPOINT_URL: aws.config.endpoint,
    AWS_REGION: aws.config.region,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    POWERTOOLS_METRICS_DISABLED: 'true',
  };
  const queueHere = `${aws.config.endpoint}/000000000000/queue`;
  for (const [name, value] of Object.entries(environment))
    vi.stubEnv(name, value.replaceAll(QUEUE, queueHere));
});
afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await aws.close();
});

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/**
 * What comes of a function that has 1.6 seconds left, which pass after its first call to AWS. It ends half a second
 * before.
 */
const invoke = async (module: string, event: unknown): Promise<unknown> => {
  const { handler } = (await import(`../../../functions/${module}/handler.ts`)) as { handler: Handler };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  const endsAt = Date.now() + 1_600;
  const remainingMs = () => endsAt - Date.now();
  const context = { awsRequestId: randomUUID(), getRemainingTimeInMillis: remainingMs };
  const outcomes: unknown[] = [];
  const end = (outcome: unknown) => void outcomes.push(outcome);
  void handler(event, context).then(end, end);
  await turnsUntil(() => aws.requests.length > 0);
  while (outcomes.length === 0) await vi.advanceTimersByTimeAsync(1);
  expect(remainingMs()).toBeGreaterThan(500);
  return outcomes[0];
};

const job = encodeFirstJob({
  kind: 'job',
  key: aDeliveryKey(),
  attempt: 1,
  acceptedAt: 0,
  body: { kind: 'inline', message: aMessage() },
});

const recovery = encodeOperation({ kind: 'recovery', queue: 'orders', recoveryId: 'r-1', orderedAt: 0 });

describe('a function that gets no response from AWS', () => {
  it.each([
    ['dispatch', '{"queue":"orders","data":1}'],
    ['deliver', job],
    ['operate', recovery],
  ])('reports the failed record before its time is up: %s', async (module, body) => {
    const record = anSqsRecord(body);
    const outcome = await invoke(module, { Records: [record] });
    expect(outcome).toEqual({ batchItemFailures: [{ itemIdentifier: record.messageId }] });
  });

  it('fails before its time is up: reconcile', async () => {
    const outcome = await invoke('reconcile', {});
    expect(outcome).toMatchObject({ name: 'RunFailedError' });
    expect(String(outcome)).toContain('TimeoutError');
  });

  it('answers before its time is up: api', async () => {
    const outcome = await invoke('api', {
      rawPath: '/v2/queues/orders',
      requestContext: {
        requestId: 'request-1',
        http: { method: 'GET' },
        authorizer: { jwt: { claims: { scope: 'r', queues: 'orders' } } },
      },
    });
    expect(outcome).toMatchObject({ statusCode: 500 });
  });
});
