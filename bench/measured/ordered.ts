import { parseDeliveryRecord } from '../../shared/wire/jobs/delivery-job.ts';

/**
 * How many deliveries jobs order, as the delivery queue carries them: one may be for several.
 * @throws TypeError for what is no job
 */
export const orderedIn = (bodies: readonly string[]): number =>
  bodies.map(deliveriesIn).reduce((sum, count) => sum + count, 0);

const deliveriesIn = (body: string): number => {
  const parsed = parseDeliveryRecord(body);
  if (!parsed.ok) throw new TypeError(`A job cannot be read: ${parsed.reason}`);
  return parsed.value.kind === 'chunk' ? parsed.value.subscriptionIds.length : 1;
};
