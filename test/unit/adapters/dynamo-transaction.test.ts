import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { dynamoClient } from '../../../shared/adapters/dynamodb/client.ts';
import { transactWrite } from '../../../shared/adapters/dynamodb/writes.ts';
import type { CallDeadline } from '../../../shared/adapters/lambda/invocation-deadline.ts';
import { interruptedClient } from '../../support/dynamo-clients.ts';
import { awsStub } from '../../support/aws-stub.ts';

const canceledFor = (...codes: string[]) =>
  new TransactionCanceledException({
    message: 'cancelled',
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ Code })),
  });

const finished = new Error('got through');

/**
 * Runs a transaction that fails with each error in turn and then with `finished`, because there is no DynamoDB.
 */
const attemptedWith = async (errors: Error[], deadline?: CallDeadline) => {
  const pauses: number[] = [];
  const clock = {
    sleep: (milliseconds: number) => {
      pauses.push(milliseconds);
      return Promise.resolve();
    },
  };
  const nowhere = {
    endpoint: 'http://127.0.0.1:9',
    region: 'us-east-1',
    accessKeyId: 'test',
    secretAccessKey: 'test',
  };
  const client = interruptedClient(nowhere, () => Promise.reject(errors.shift() ?? finished));
  const pacing = deadline === undefined ? clock : { ...clock, deadline };
  const outcome = await transactWrite(client, pacing, []).catch((error: unknown) => error);
  return { outcome, pauses };
};

const conflict = canceledFor('None', 'TransactionConflict');

describe('a transaction', () => {
  it('is retried after growing pauses while another one holds its items', async () => {
    const { outcome, pauses } = await attemptedWith(Array.from({ length: 7 }, () => conflict));
    expect(outcome).toBe(finished);
    expect(pauses).toHaveLength(7);
    for (const [index, pause] of pauses.entries()) expect(pause).toBeLessThan(50 * 2 ** index);
  });

  it('fails with the conflict after eight tries', async () => {
    const { outcome, pauses } = await attemptedWith(Array.from({ length: 8 }, () => conflict));
    expect(outcome).toBe(conflict);
    expect(pauses).toHaveLength(7);
  });

  it('whose response was lost is repeated with the same idempotency token', async () => {
    const stub = await awsStub((_, index) => (index === 0 ? 'hang_up' : {}));
    const { endpoint, region, credentials } = stub.config;
    const client = dynamoClient({ endpoint, region, credentials });
    const clock = { sleep: () => Promise.reject(new Error('nothing to wait for')) };
    const Put = { TableName: 'table', Item: { pk: 'p' } };
    expect(await transactWrite(client, clock, [{ Put }])).toEqual({ kind: 'written' });
    await stub.close();
    const sent = z.object({ ClientRequestToken: z.uuid() });
    const [token, ...others] = stub.requests.map(({ body }) => sent.parse(JSON.parse(body)));
    expect(others).toEqual([token]);
  });

  it('reports the failed condition, even if there was also a conflict', async () => {
    const error = canceledFor('None', 'ConditionalCheckFailed', 'TransactionConflict');
    const { outcome, pauses } = await attemptedWith([error]);
    expect(outcome).toMatchObject({
      kind: 'refused',
      writes: [{ failed: false }, { failed: true }, { failed: false }],
      error,
    });
    expect(pauses).toEqual([]);
  });

  it.each(['ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'is retried if an item was throttled: %s',
    async (code) => {
      const { outcome, pauses } = await attemptedWith([canceledFor('None', code)]);
      expect(outcome).toBe(finished);
      expect(pauses).toHaveLength(1);
    },
  );

  it('is not retried without time for the pause and another try', async () => {
    const { outcome, pauses } = await attemptedWith([conflict], { remainingMs: () => 499 });
    expect(outcome).toBe(conflict);
    expect(pauses).toEqual([]);
  });

  it.each([canceledFor('ValidationError'), new Error('unreachable')])('passes on %s', async (error) => {
    expect((await attemptedWith([error])).outcome).toBe(error);
  });
});
