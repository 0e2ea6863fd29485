import type { BroughtBy } from '../domain/attempt.ts';
import type { DeliveryJob, WakeUp } from '../domain/delivery-job.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { MessageBody } from '../domain/message-body.ts';
import type { Message } from '../domain/message.ts';
import type { Queue, Subscription } from '../domain/subscription.ts';
import type { DeliverContext, Received } from './deliver-context.ts';

/** Whom a delivery is for, as read for the attempt at hand. */
export type Target = { queue: Queue | undefined; subscription: Subscription | undefined };

/** A delivery whose lease we hold, and all that its attempts need. */
export type HeldDelivery = {
  work: DeliveryJob | WakeUp;
  received: Received;
  delivery: Delivery;
  target: Target;
  /** What brought the attempt at hand about. */
  by?: BroughtBy;
  message: Message;
  /** Where the message came from. */
  body: MessageBody;
};

/** What is left of the lease and of the invocation, in milliseconds. */
export const timeLeftMs = ({ ports }: DeliverContext, { delivery, received }: HeldDelivery): number =>
  Math.min((delivery.lease?.until ?? 0) - ports.clock.now(), received.remainingMs());
