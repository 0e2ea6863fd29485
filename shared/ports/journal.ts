import type { WorkQueueName } from '../domain/work-queues.ts';
import type { WaitingReason } from '../domain/subscription/vocabulary.ts';
import type { Mechanism, Status, DroppedReason } from '../domain/delivery/vocabulary.ts';
import type { Attempt } from '../domain/delivery/attempt.ts';
import type { DeliveryKey } from '../domain/delivery/delivery.ts';
import type { MessageKey } from '../domain/message/message.ts';
import type { OperatorEvent } from '../domain/delivery/operator-event.ts';
import type { Operation } from '../domain/recovery/operation.ts';

/**
 * An event of the pipeline. Adapters turn facts into log lines and metrics; they contain no payloads and no
 * secrets.
 */
export type Fact =
  /**
   * `matched`: subscriptions on the page that jobs are sent to now. `differs`: the repeat differs from
   * the accepted message with its id. `late`: it arrived after the window of its message. `unfinished`: more pages
   * follow. `event`: what the catalogue of event types says of it, unless that is in order.
   */
  | {
      fact: 'message_accepted';
      message: MessageKey;
      matched: number;
      filtered: number;
      duplicate: boolean;
      differs?: true;
      late?: true;
      unfinished?: true;
      event?: 'invalid' | 'undecided';
    }
  /** A further page of a message to many subscriptions was sent. */
  | { fact: 'page_sent'; message: MessageKey; matched: number; filtered: number }
  /** An invocation had no time for all subscriptions of a message; SQS redelivers it for the rest. */
  | { fact: 'message_unfinished'; message: MessageKey }
  /** Filters ran out of steps on this message, which was sent to their subscriptions. The first ten ids. */
  | {
      fact: 'filter_too_costly';
      message: MessageKey;
      subscriptions: number;
      subscriptionIds: readonly string[];
    }
  /** dispatch dead-lettered a message. `id`: SQS message id. `message`: set if the message could be parsed. */
  | { fact: 'message_refused'; id: string; reason: string; message?: MessageKey }
  | {
      fact: 'attempt_made';
      key: DeliveryKey;
      attempt: Attempt;
      status: Status;
      /** Of the message, for the statistics; not logged. */
      acceptedAt: number;
      /**
       * Planned start, including a rate-limit wait; for a first attempt without a delay: when its message was sent.
       */
      dueAt: number;
      /** Milliseconds from the planned to the actual start. Undefined: its subscriber decided when to receive it. */
      latenessMs?: number;
      nextAt?: number;
      nextBy?: Mechanism;
    }
  | { fact: 'delivery_cancelled'; key: DeliveryKey; reason: string }
  /** A manual retry, or a delivery that a recovery reopened. */
  | { fact: 'retried_manually'; key: DeliveryKey; attempt: number; round: number }
  /** `decisive`: a success that changed the final status of the delivery. */
  | { fact: 'late_result'; key: DeliveryKey; attempt: Attempt; decisive: boolean; acceptedAt: number }
  /** The slot line could not be read or written; the delivery asks again. */
  | { fact: 'slot_not_reserved'; key: DeliveryKey; error: Error }
  /** The delivery waits for a slot of its subscription's rate limit, or under back-pressure. */
  | { fact: 'slot_awaited'; key: DeliveryKey; attempt: number; slotAt: number; reason: WaitingReason }
  /** It got an earlier slot, or no longer waits for one. */
  | { fact: 'moved_up'; key: DeliveryKey; attempt: number; slotAt: number }
  /** An earlier lease expired without a result: its request may have been made. */
  | { fact: 'lease_lost'; key: DeliveryKey; attempt: number }
  | { fact: 'wake_up_set'; key: DeliveryKey; attempt: number; by: Mechanism; dueAt: number }
  /** EventBridge Scheduler refused a schedule; SQS delays replace it. */
  | { fact: 'schedule_refused'; key: DeliveryKey; attempt: number }
  | {
      fact: 'wake_up_dropped';
      key: DeliveryKey;
      attempt: number;
      reason: DroppedReason;
    }
  /** `id`: SQS message id. `key`: set if the message could be parsed. */
  | { fact: 'dead_lettered'; id: string; reason: string; key?: DeliveryKey }
  /** Too little time or memory for an attempt; the work was sent again without one. */
  | { fact: 'sent_again'; key: DeliveryKey; attempt: number }
  /** Woken by reconcile; `overdueMs`: since its due time or the last wake-up by reconcile. */
  | { fact: 'reconciled'; key: DeliveryKey; overdueMs: number }
  /**
   * End of a reconcile run. `overdue`: deliveries found past due; `stuck`: those of them that it had woken before.
   */
  | { fact: 'reconcile_ran'; overdue: number; stuck: number }
  /** operate sent the rest of an operation to itself. */
  | { fact: 'operation_continued'; operation: Operation['kind']; queue: string; delaySeconds: number }
  /** An operation for a recovery without a record: the request that created it failed. */
  | { fact: 'operation_dropped'; operation: Operation['kind']; queue: string }
  /** An operation failed for a delivery; it is retried and finally skipped. */
  | { fact: 'operation_failed_for'; operation: Operation['kind']; key: DeliveryKey; error: Error }
  /** Cancellation gave up on deliveries; their next attempt finds the subscription deleted. */
  | { fact: 'cancellation_given_up'; queue: string; subscriptionId?: string; failed: number }
  | { fact: 'recovery_completed'; queue: string; recoveryId: string; found: number; reopened: number }
  /** The configured policy contradicted the current defaults and was corrected. */
  | { fact: 'policy_adjusted'; queue: string; warning: string }
  | { fact: 'operator_event_sent'; event: OperatorEvent }
  /** A health change of a subscription could not be recorded; its delivery was. */
  | { fact: 'health_not_recorded'; queue: string; subscriptionId: string; error: Error }
  /** Counters of minutes could not be written. Refused ones are kept for the next write, up to a limit. */
  | { fact: 'statistics_not_written'; minutes: number; error: Error }
  /** Operator events of failed attempts could not be sent. */
  | { fact: 'attempt_events_lost'; events: number; error: Error }
  /** A confirmation request was not sent, or sending it was not recorded; it stays pending. */
  | { fact: 'confirmation_not_sent'; queue: string; subscriptionId: string; error: Error }
  /** A receive loop of a worker changed its interval (docs/worker.md#polling). `trace`: how. `interval`: now, in seconds. */
  | { fact: 'polled'; sqsQueue: WorkQueueName; trace: string; interval: number }
  /** An AWS call failed in a retryable way; `repeated`: it was retried. */
  | { fact: 'aws_call_failed'; awsService: string; reason: string; throttled: boolean; repeated: boolean };

export interface Journal {
  note(fact: Fact): void;
}

/** Delivers at least once: receivers recognise a copy by its content. */
export interface OperatorEvents {
  /** @throws if it could not be sent */
  publish(event: OperatorEvent): Promise<void>;
}
