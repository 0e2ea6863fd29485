import type { Delivery, DeliveryKey, Transition } from '../../shared/domain/delivery/delivery.ts';
import type { OperatorEvent } from '../../shared/domain/operator-event.ts';
import type { Reply } from '../../shared/domain/delivery/outcome.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import type { Fault } from './faults.ts';
import type { Published } from './planned-message.ts';
import type { SimulatedSettings } from './scenario.ts';

/** One run of a function on one machine: it dies as a whole. */
export type Invocation = {
  /** It was killed, or its time is up. */
  dead: boolean;
  killedAt?: number;
  faults: Fault[];
};

/** One message received by a function, or one run of reconcile: whoever calls the ports. */
export type Actor = {
  name: string;
  invocation: Invocation;
  /** Unique to this receive; the name on a lease. */
  owner: string;
  startedAt: number;
  clockOffset: number;
  settings: SimulatedSettings;
  /** Of a message received by dispatch. */
  copy?: Published;
  /**
   * Of the message received: the deliveries it is about, and the number it was sent with. `hasComeBefore`: it was received
   * before, or is for what somebody did not come back from.
   */
  work?: { deliveries: readonly string[]; attempt: number; hasComeBefore: boolean; carriesMessage: boolean };
};

/** The right to make one request, as the records gave it. `leaseUntil` is by its owner's clock. */
export type Grant = { at: number; number: number; leaseUntil: number };

export type Granted = { delivery: string; actor: Actor; grant: Grant };

/** A request as its receiver saw it. */
export type SeenRequest = {
  at: number;
  /** When the reply was there, if the one who asked still was. */
  answeredAt?: number;
  delivery: string;
  actor: Actor;
  grant: Grant | undefined;
  url: string;
  webhookId: string;
  body: string;
  /** As its headers say. */
  signedAt: string;
  signatures: string;
  reply: Reply;
};

export type Write = {
  at: number;
  delivery: string;
  transition: Transition;
  actor: Actor;
  before: Delivery | undefined;
  after: Delivery;
};

export type SentWakeUp = {
  at: number;
  delivery: string;
  attempt: number;
  dueAt: number;
  by: 'sqs_delay' | 'scheduler';
  actor: Actor;
  /** The record at that time. */
  recorded: Delivery | undefined;
  /** A schedule of this name was set already, for this due time. */
  takenFor?: number;
};

/** A message was marked as erased for the first time. */
export type Erasure = { at: number; messageId: string; acceptedAt: number };

export type Acceptance = { at: number; actor: Actor; record: MessageRecord };

/** What happened in a run, gathered where it happened: at the receivers, in the stores and in the queues. */
export type History = {
  requests: SeenRequest[];
  /** Attempts that made no request, because their address is forbidden. */
  refused: SeenRequest[];
  grants: Granted[];
  writes: Write[];
  wakeUps: SentWakeUp[];
  acceptances: Acceptance[];
  erasures: Erasure[];
  /** Undeliverable notices, by delivery and the round that had ended. */
  notices: { delivery: string; round: number }[];
  /** What operators were told. */
  events: OperatorEvent[];
  buried: { reason: string; name: string; at: number }[];
  /** A line for each happening, where one was asked for. */
  trace: string[] | undefined;
};

export const emptyHistory = (traced: boolean): History => ({
  requests: [],
  refused: [],
  grants: [],
  writes: [],
  wakeUps: [],
  acceptances: [],
  erasures: [],
  notices: [],
  events: [],
  buried: [],
  trace: traced ? [] : undefined,
});

export const deliveryName = ({ messageId, subscriptionId }: DeliveryKey): string =>
  `${messageId}/${subscriptionId}`;
