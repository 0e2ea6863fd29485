import { type Mechanism, type Status, type DroppedReason } from '../domain/vocabulary.ts';
import type { Attempt } from '../domain/delivery/attempt.ts';
import type { DeliveryKey } from '../domain/delivery/delivery.ts';
import type { MessageKey } from '../domain/message/message.ts';
import type { OperatorEvent } from '../domain/operator-event.ts';
import type { Operation } from '../domain/recovery/operation.ts';

/** What happened, in the field's words. Adapters make log lines and metrics of it; never payloads, never secrets. */
export type Fact =
  /**
   * `matched`: deliveries that jobs were sent for, from the first page of subscriptions. `differs`: the repeat is not what was accepted
   * under its id. `late`: it came after the window of its message. `unfinished`: there are more pages.
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
    }
  /** Of a message to many subscriptions: those of a further page. */
  | { fact: 'page_sent'; message: MessageKey; matched: number; filtered: number }
  /** An invocation had no time for all subscriptions of a message: it comes again for the others. */
  | { fact: 'message_unfinished'; message: MessageKey }
  /** Filters that would have taken too many steps on this message: it went to their subscriptions. The first ten by id. */
  | {
      fact: 'filter_too_costly';
      message: MessageKey;
      subscriptions: number;
      subscriptionIds: readonly string[];
    }
  /** `id` is SQS's. `message`: where it could be read as far as that. */
  | { fact: 'message_refused'; id: string; reason: string; message?: MessageKey }
  | {
      fact: 'attempt_made';
      key: DeliveryKey;
      attempt: Attempt;
      status: Status;
      /** When it was to start, waiting for a rate limit included; a first attempt without a delay: when its message was sent. */
      dueAt: number;
      /** Milliseconds from then to when it started. */
      latenessMs: number;
      nextAt?: number;
      nextBy?: Mechanism;
    }
  | { fact: 'delivery_cancelled'; key: DeliveryKey; reason: string }
  | { fact: 'retried_by_hand'; key: DeliveryKey; attempt: number; round: number }
  /** `decisive`: a success that became the delivery's final status. */
  | { fact: 'late_result'; key: DeliveryKey; attempt: Attempt; decisive: boolean }
  /** The line of a subscription's slots could not be had: the delivery asks again. */
  | { fact: 'slot_unreserved'; key: DeliveryKey; error: Error }
  /** Its subscription limits the rate of its requests: it waits on record for its turn. */
  | { fact: 'slot_awaited'; key: DeliveryKey; attempt: number; slotAt: number }
  /** It waits for an earlier turn than before, or for none. */
  | { fact: 'moved_up'; key: DeliveryKey; attempt: number; slotAt: number }
  | { fact: 'lease_lost'; key: DeliveryKey; attempt: number }
  | { fact: 'wake_up_set'; key: DeliveryKey; attempt: number; by: Mechanism; dueAt: number }
  | { fact: 'schedule_refused'; key: DeliveryKey; attempt: number }
  | {
      fact: 'wake_up_dropped';
      key: DeliveryKey;
      attempt: number;
      reason: DroppedReason;
    }
  /** `id` is SQS's. `key`: where it could be read as far as that. */
  | { fact: 'dead_lettered'; id: string; reason: string; key?: DeliveryKey }
  | { fact: 'time_given_back'; key: DeliveryKey; attempt: number }
  /** Woken by reconcile; `overdueMs`: since it was due, or to be looked at again. */
  | { fact: 'reconciled'; key: DeliveryKey; overdueMs: number }
  /** A run of reconcile is over: so many deliveries it found past their time, and so many of them it had woken before. */
  | { fact: 'reconcile_ran'; overdue: number; stuck: number }
  /** operate sent the rest of an order to itself. */
  | { fact: 'operation_continued'; operation: Operation['kind']; queue: string; delaySeconds: number }
  /** A recovery that has no record: whoever ordered it was told that it failed. */
  | { fact: 'operation_dropped'; operation: Operation['kind']; queue: string }
  /** A delivery that an order is about could not be dealt with; it is looked at again, and left alone in the end. */
  | { fact: 'operation_failed_for'; operation: Operation['kind']; key: DeliveryKey; error: Error }
  /** Deliveries were left to find their subscription gone by themselves. */
  | { fact: 'cancellation_given_up'; queue: string; subscriptionId?: string; failed: number }
  | { fact: 'recovery_completed'; queue: string; recoveryId: string; found: number; reopened: number }
  | { fact: 'policy_adjusted'; queue: string; warning: string }
  | { fact: 'operator_told'; event: OperatorEvent }
  /** What an attempt says of its subscription's health is not on record. Its delivery is. */
  | { fact: 'health_unnoted'; queue: string; subscriptionId: string; error: Error }
  /** A subscriber that is to confirm was not asked, or it is not on record that it was: the question stays owed. */
  | { fact: 'confirmation_owed'; queue: string; subscriptionId: string; error: Error }
  /** A service of AWS failed a request of ours in a way that is worth a repeat; `repeated`: it was made once more. */
  | { fact: 'aws_call_failed'; awsService: string; reason: string; throttled: boolean; repeated: boolean };

export interface Journal {
  note(fact: Fact): void;
}

/** At least once: whoever listens recognises a copy by what it says. */
export interface OperatorEvents {
  /** @throws when it could not be sent */
  publish(event: OperatorEvent): Promise<void>;
}
