import type { Delivery } from './delivery.ts';
import type { MessageBody } from './message-body.ts';

/** What the undeliverable queue holds: the delivery as it ended, and its message. */
export type UndeliverableNotice = {
  delivery: Delivery;
  /** Absent where it was erased or has expired. */
  body?: MessageBody;
};
