import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import type { DeliveryQueue } from '../../shared/ports/queues.ts';
import { aMessage } from '../support/builders.ts';
import { aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';
import { inAnyOrder } from '../support/in-any-order.ts';

/** `arrivals` waits for `count` jobs, and returns all that there are then, with their times of arrival. */
export type DeliveryQueueUnderTest = {
  queue: DeliveryQueue;
  now: () => number;
  arrivals: (count: number) => Promise<{ value: DeliveryJob; at: number }[]>;
};

const aJob = (overrides: Partial<DeliveryJob> = {}): DeliveryJob => ({
  kind: 'job',
  key: aDeliveryKey(),
  attempt: 1,
  acceptedAt: SOME_TIME,
  body: { kind: 'inline', message: aMessage() },
  ...overrides,
});

const jobsOf = (arrived: { value: DeliveryJob }[]) => inAnyOrder(arrived.map(({ value }) => value));

/** Contract of delivery queues: each job arrives once, unchanged, and not before its time. */
export const describeDeliveryQueueContract = (
  name: string,
  make: () => Promise<DeliveryQueueUnderTest>,
): void => {
  describe(`a delivery queue ${name}`, () => {
    it('delivers jobs unchanged, and nothing for an empty list', async () => {
      const { queue, arrivals } = await make();
      const jobs = [
        aJob({ dueAt: SOME_TIME + 1 }),
        aJob({ body: { kind: 'stored', payloadKey: 'orders/m-1/abc' } }),
        aJob({
          body: { kind: 'inline', message: aMessage({ originalId: 'größer 🐘\u0000"', expiresAt: 1 }) },
        }),
        aJob({ body: { kind: 'inline', message: aMessage({ data: '[1.0,  12345678901234567890]' }) } }),
      ];
      await queue.send([]);
      await queue.send(jobs);
      expect(jobsOf(await arrivals(4))).toEqual(inAnyOrder(jobs));
    });

    it('delivers more jobs than fit into one request, each once', async () => {
      const { queue, arrivals } = await make();
      const jobs = Array.from({ length: 43 }, () => aJob());
      await queue.send(jobs);
      expect(jobsOf(await arrivals(43))).toEqual(inAnyOrder(jobs));
    });

    it('delivers more than a mebibyte at once', async () => {
      const { queue, arrivals } = await make();
      const data = JSON.stringify('é'.repeat(32_000));
      const jobs = Array.from({ length: 18 }, () =>
        aJob({ body: { kind: 'inline', message: aMessage({ data }) } }),
      );
      await queue.send(jobs);
      expect(jobsOf(await arrivals(18))).toEqual(inAnyOrder(jobs));
    });

    it('delivers the jobs of fifty concurrent senders', async () => {
      const { queue, arrivals } = await make();
      const jobs = Array.from({ length: 50 }, () => aJob());
      await Promise.all(jobs.map((job) => queue.send([job])));
      expect(jobsOf(await arrivals(50))).toEqual(inAnyOrder(jobs));
    });

    it('delivers a delayed job not before its delay', async () => {
      const { queue, now, arrivals } = await make();
      const [delayed, prompt, late] = [aJob(), aJob(), aJob()];
      const sentAt = now();
      await queue.send([delayed], 1);
      await queue.send([prompt]);
      await queue.send([late], -5);
      const arrived = await arrivals(3);
      expect(jobsOf(arrived)).toEqual(inAnyOrder([delayed, prompt, late]));
      const last = arrived.find(({ value }) => isDeepStrictEqual(value, delayed));
      expect((last?.at ?? 0) - sentAt).toBeGreaterThanOrEqual(1_000);
    });
  });
};
