import { describe, expect, it } from 'vitest';
import { orderedIn } from '../../bench/measured/ordered.ts';
import type { ChunkJob, DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { encodeFirstJob } from '../../shared/wire/jobs/delivery-job.ts';
import { aMessage } from '../support/builders.ts';

const place = { queue: 'orders', messageId: 'message-1', bucket: 0 };
const body = { kind: 'inline' as const, message: aMessage() };

const single: DeliveryJob = {
  kind: 'job',
  key: { ...place, subscriptionId: 's-1' },
  attempt: 1,
  acceptedAt: 1,
  body,
};

const chunk: ChunkJob = {
  kind: 'chunk',
  key: { ...place, chunk: 0 },
  subscriptionIds: ['s-2', 's-3', 's-4'],
  acceptedAt: 1,
  body,
};

describe('deliveries that jobs order', () => {
  it('are counted one by one, however many a job is for', () => {
    expect(orderedIn([])).toBe(0);
    expect(orderedIn([single, chunk, single].map(encodeFirstJob))).toBe(5);
  });

  it('are not guessed of what is no job', () => {
    expect(() => orderedIn(['{}'])).toThrow(TypeError);
  });
});
