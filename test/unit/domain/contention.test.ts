import { describe, expect, it } from 'vitest';
import { contended, ContendedError, withRetriedWrites } from '../../../shared/domain/contention.ts';
import { contendedDelivery } from '../../../shared/domain/delivery/delivery.ts';

/** A step that is refused `times` times before it succeeds. */
const refused = (times: number) => {
  let steps = 0;
  const step = () => Promise.resolve((steps += 1) > times ? `written at step ${steps}` : 'again');
  return { step, steps: () => steps };
};

const giveUp = () => 'given up';

describe('a retried conditional write', () => {
  it('runs once without a concurrent write', async () => {
    const { step, steps } = refused(0);
    expect(await withRetriedWrites(step, giveUp)).toBe('written at step 1');
    expect(steps()).toBe(1);
  });

  it('is tried four times by default', async () => {
    expect(await withRetriedWrites(refused(3).step, giveUp)).toBe('written at step 4');
    const { step, steps } = refused(4);
    expect(await withRetriedWrites(step, giveUp)).toBe('given up');
    expect(steps()).toBe(4);
  });

  it('uses the tries and pauses of its caller', async () => {
    const pauses: number[] = [];
    const pause = (tried: number) => Promise.resolve(void pauses.push(tried));
    expect(await withRetriedWrites(refused(2).step, giveUp, { tries: 3, pause })).toBe('written at step 3');
    expect(pauses).toEqual([1, 2]);
  });

  it('fails if its caller has no result for a lasting contention', async () => {
    const retried = withRetriedWrites(refused(4).step, contended('queue orders'));
    await expect(retried).rejects.toThrow(new ContendedError('queue orders'));
  });

  it('passes errors through', async () => {
    const step = () => Promise.reject(new Error('power cut'));
    await expect(withRetriedWrites(step, giveUp)).rejects.toThrow('power cut');
  });
});

describe('a ContendedError', () => {
  it('names the record', () => {
    expect(new ContendedError('queue orders').message).toBe(
      'The queue orders kept being changed by concurrent writes.',
    );
    const key = { queue: 'orders', messageId: 'm-1', subscriptionId: 's-1', bucket: 0 };
    expect(contendedDelivery(key).message).toContain('delivery orders/m-1/s-1');
  });
});
