import type { AnswerResult, PullAnswer } from '../../functions/api/pull/answer.ts';
import type { Delivery, DeliveryKey, Transition } from '../../shared/domain/delivery/delivery.ts';
import type { OperatorEvent } from '../../shared/domain/delivery/operator-event.ts';
import type { Reply } from '../../shared/domain/retry/outcome.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import type { Fault } from './faults.ts';
import type { Published, SimulatedSettings } from './scenario.ts';

/** One invocation of a function on one machine. A crash ends all its work. */
export type Invocation = {
  /** It crashed or timed out. */
  hasEnded: boolean;
  killedAt?: number;
  faults: Fault[];
};

/** A caller of the ports: the handling of one received message, or one run of reconcile. */
export type Actor = {
  name: string;
  invocation: Invocation;
  /** The lease owner. Unique per receive. */
  owner: string;
  startedAt: number;
  clockOffset: number;
  settings: SimulatedSettings;
  /** The message copy, for a message received by dispatch. */
  copy?: Published;
  /** The received message's deliveries and attempt number. `isRepeated`: redelivered, or sent for a lost attempt. */
  work?: {
    deliveries: readonly string[];
    attempt: number;
    isRepeated: boolean;
    carriesMessage: boolean;
    /** Requested by an operator. */
    isAtOnce: boolean;
  };
};

/** The right to make one request, granted by a claim. `leaseUntil` is on the owner's clock. */
export type Grant = { at: number; number: number; leaseUntil: number };

export type Granted = { delivery: string; actor: Actor; grant: Grant };

/** A request as seen by its receiver. */
export type SeenRequest = {
  at: number;
  /** When the reply arrived, if its invocation was still running. */
  answeredAt?: number;
  delivery: string;
  actor: Actor;
  grant: Grant | undefined;
  url: string;
  webhookId: string;
  body: string;
  /** From its headers. */
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
  /** The delivery record at that time. */
  recorded: Delivery | undefined;
  /** The due time of an existing schedule with this name. */
  existingDueAt?: number;
};

/** The first erasure of a message. */
export type Erasure = { at: number; messageId: string; acceptedAt: number };

export type Acceptance = { at: number; actor: Actor; record: MessageRecord };

/** A consumer's answer to a delivery that it received, and what the API said; undefined: no response arrived. */
export type PullAnswered = {
  at: number;
  delivery: string;
  /** Of the lease. */
  owner: string;
  answer: PullAnswer['kind'];
  result: AnswerResult | undefined;
};

/** What happened in a run, collected at the receivers, stores and queues. */
export type History = ReturnType<typeof emptyHistory>;

export const emptyHistory = (traced: boolean) => ({
  requests: [] as SeenRequest[],
  /** Attempts without a request: their address is forbidden, or they got no token. */
  refused: [] as Pick<SeenRequest, 'actor' | 'grant'>[],
  grants: [] as Granted[],
  /** Answers of the consumers of pull subscriptions. */
  pullAnswers: [] as PullAnswered[],
  writes: [] as Write[],
  wakeUps: [] as SentWakeUp[],
  acceptances: [] as Acceptance[],
  erasures: [] as Erasure[],
  /** Messages on the undeliverable queue, by delivery and ended round. */
  notices: [] as { delivery: string; round: number }[],
  /** Published operator events. */
  events: [] as OperatorEvent[],
  deadLetters: [] as { reason: string; name: string; at: number }[],
  /** One line per event, if tracing was requested. */
  trace: traced ? ([] as string[]) : undefined,
});

export const deliveryName = ({ messageId, subscriptionId }: DeliveryKey): string =>
  `${messageId}/${subscriptionId}`;
