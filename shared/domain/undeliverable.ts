import type { JobBody } from './delivery-job.ts';
import type { Delivery } from './delivery.ts';

/** What the undeliverable queue holds: the delivery as it ended, and its message. */
export type UndeliverableNotice = { delivery: Delivery; body: JobBody };
