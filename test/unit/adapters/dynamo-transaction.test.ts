import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { describe, expect, it } from 'vitest';
import { transacted } from '../../../shared/adapters/dynamo-transaction.ts';
import { interruptedClient } from '../../support/dynamo-clients.ts';

const canceledFor = (...codes: string[]) =>
  new TransactionCanceledException({
    message: 'cancelled',
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ Code })),
  });

const finished = new Error('got through');

/** Fails with each error in turn, then gets through (which there is no DynamoDB for). */
const attemptedWith = async (...errors: Error[]) => {
  const pauses: number[] = [];
  const clock = {
    sleep: (milliseconds: number) => {
      pauses.push(milliseconds);
      return Promise.resolve();
    },
  };
  const nowhere = { endpoint: 'http://127.0.0.1:9', region: 'us-east-1' };
  const client = interruptedClient(nowhere, () => Promise.reject(errors.shift() ?? finished));
  const outcome = await transacted(client, clock, []).catch((error: unknown) => error);
  return { outcome, pauses };
};

const conflict = canceledFor('None', 'TransactionConflict');

describe('a transaction', () => {
  it('is tried again, after ever longer pauses at most, while another one has its items', async () => {
    const { outcome, pauses } = await attemptedWith(...Array.from({ length: 7 }, () => conflict));
    expect(outcome).toBe(finished);
    expect(pauses).toHaveLength(7);
    for (const [index, pause] of pauses.entries()) expect(pause).toBeLessThan(50 * 2 ** index);
  });

  it('is given up with the conflict as its error after eight tries', async () => {
    const { outcome, pauses } = await attemptedWith(...Array.from({ length: 8 }, () => conflict));
    expect(outcome).toBe(conflict);
    expect(pauses).toHaveLength(7);
  });

  it('says which condition did not hold, even where there was a conflict besides', async () => {
    const error = canceledFor('None', 'ConditionalCheckFailed', 'TransactionConflict');
    const { outcome, pauses } = await attemptedWith(error);
    expect(outcome).toMatchObject({
      kind: 'refused',
      writes: [{ failed: false }, { failed: true }, { failed: false }],
      error,
    });
    expect(pauses).toEqual([]);
  });

  it.each([canceledFor('ThrottlingError'), new Error('unreachable')])('passes on %s', async (error) => {
    expect((await attemptedWith(error)).outcome).toBe(error);
  });
});
