import { endOfAttempt, shownResult } from '../domain/delivery/attempt.ts';
import type { OperatorEvent } from '../domain/delivery/operator-event.ts';
import { toError } from '../domain/errors.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { Fact, Journal, OperatorEvents } from '../ports/journal.ts';

/** The most events that one flush sends. */
const MAX_HELD = 1_000;

class TooManyEventsError extends Error {
  override readonly name = 'TooManyEventsError';
  constructor() {
    super(`There were more than ${MAX_HELD} events to send at once.`);
  }
}

/**
 * A journal that also sends `attempt.failed` for each attempt that failed or was rejected, when it is flushed, at the end
 * of an invocation. Best effort: the attempt is on record, so an event that cannot be sent is noted and dropped, and a
 * crash loses it.
 */
export function attemptEventsJournal<Inner extends Journal & { flush: () => void | Promise<void> }>(
  inner: Inner,
  { operatorEvents, enabled }: { operatorEvents: OperatorEvents; enabled: boolean },
): Omit<Inner, 'flush'> & { flush: () => Promise<void> } {
  let held: OperatorEvent[] = [];
  let dropped = 0;

  const send = async (): Promise<void> => {
    const [sending, tooMany] = [held, dropped];
    [held, dropped] = [[], 0];
    const results = await Promise.allSettled(sending.map((event) => operatorEvents.publish(event)));
    const faults = results.flatMap((result) =>
      result.status === 'rejected' ? [toError(result.reason)] : [],
    );
    const [error = new TooManyEventsError()] = faults;
    const events = faults.length + tooMany;
    if (events > 0) inner.note({ fact: 'attempt_events_lost', events, error });
  };

  return {
    ...inner,
    note: (fact) => {
      inner.note(fact);
      const event = enabled ? toEvent(fact) : undefined;
      if (event === undefined) return;
      if (held.length < MAX_HELD) held.push(event);
      else dropped += 1;
    },
    flush: async () => {
      if (held.length > 0) await send();
      await inner.flush();
    },
  };
}

function toEvent(fact: Fact): OperatorEvent | undefined {
  if (fact.fact !== 'attempt_made') return undefined;
  const { number, outcome, result } = fact.attempt;
  if (outcome === 'delivered') return undefined;
  const { statusCode, error } = shownResult(result);
  return {
    type: 'attempt.failed',
    key: fact.key,
    attempt: number,
    outcome,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(error === undefined ? {} : { error }),
    at: endOfAttempt(fact.attempt),
    ...(fact.nextAt === undefined ? {} : { nextAt: fact.nextAt }),
  };
}

type NotifyPorts = { operatorEvents: OperatorEvents; journal: Journal };

/** Sends an event to the operator's event bus and logs it after success. @throws if it could not be sent */
export async function notifyOperator(
  { operatorEvents, journal }: NotifyPorts,
  event: OperatorEvent,
): Promise<void> {
  await operatorEvents.publish(event);
  journal.note({ fact: 'operator_event_sent', event });
}

/**
 * Notifies the operator of a manually disabled subscription, also if it was disabled earlier: a request repeated
 * after a failure sends the event again. Other disable reasons sent their event before.
 * @throws if it could not be sent
 */
export async function notifyManuallyDisabled(
  ports: NotifyPorts,
  { queue, id, disabled }: Subscription,
): Promise<void> {
  if (disabled?.reason === 'manual')
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId: id, ...disabled });
}
