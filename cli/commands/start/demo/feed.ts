import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { ApiClient } from '../../../../api-client/api-client.ts';
import { listDeliveriesOfMessage } from '../../../../api-client/operations.ts';
import { isNotFound, orElse } from '../../../../api-client/refusal.ts';
import type { OperatorInbox } from '../../../../local/operator-inbox.ts';
import { isOpenStatus } from '../../../../shared/domain/delivery/vocabulary.ts';
import { poll } from '../../../../shared/steps/poll.ts';
import type { OperatorEventMessage } from '../../../../shared/wire/events/operator-event.ts';
import { type DeliveryView, STARTED_BY } from '../../../../shared/wire/views/delivery.ts';
import { clockTime } from '../../../output/text.ts';
import { demoQueue } from './scenario.ts';

/** How long a message is still polled after its last delivery has ended. */
const QUIET_MS = 15_000;

const NONE = { items: [], more: false };

type Followed = {
  label: string;
  /** Those whose attempts were shown. */
  views: readonly DeliveryView[];
  changedAt: number;
};

export type Feed = ReturnType<typeof createFeed>;

/**
 * Prints every attempt of the followed messages once, in chronological order, and operator events as they arrive.
 * `names`: of the subscribers, by the ids of their subscriptions.
 */
export function createFeed(
  api: ApiClient,
  inbox: OperatorInbox,
  names: ReadonlyMap<string, string>,
  signal: AbortSignal,
) {
  const followed = new Map<string, Followed>();
  const reportedExhausted = new Set<string>();
  const findSubscriber = (subscriptionId: string): string =>
    names.get(subscriptionId) ?? subscriptionId.slice(0, 8);
  const findLabel = (messageId: string): string => followed.get(messageId)?.label ?? messageId;
  const print = (line: string): void => {
    console.log(`  ${line}`);
  };

  const newLines = (message: Followed, views: readonly DeliveryView[]): FeedLine[] =>
    views.flatMap((view) => {
      const shown = message.views.find(({ subscriptionId }) => subscriptionId === view.subscriptionId);
      const subscriber = findSubscriber(view.subscriptionId);
      return view.attempts
        .slice(shown?.attempts.length ?? 0)
        .map((attempt) => ({ message: message.label, subscriber, view, attempt }));
    });

  const showNews = async (): Promise<number> => {
    const awaited = [...followed].filter(([, message]) => isAwaited(message));
    const found = awaited.map(async ([messageId, message]) => {
      const path = { queue: demoQueue, message: messageId };
      // There are none until the message is recorded.
      const { items } = await api.items(listDeliveriesOfMessage, { path }).catch(orElse(isNotFound, NONE));
      const lines = newLines(message, items);
      message.views = items;
      if (lines.length > 0) message.changedAt = Date.now();
      return lines;
    });
    const lines = (await Promise.all(found))
      .flat()
      .toSorted((one, other) => one.attempt.startedAt.localeCompare(other.attempt.startedAt));
    for (const line of lines) print(feedLine(line));
    const events = await inbox.take();
    for (const event of events) {
      print(eventLine(event, { subscriber: findSubscriber, message: findLabel }, new Date()));
      if (event['detail-type'] === 'delivery.exhausted') reportedExhausted.add(buildKey(event.detail));
    }
    return lines.length + events.length;
  };

  return {
    /** Shows the attempts of a message from now on; idempotent. */
    follow: (messageId: string): void => {
      const known = followed.get(messageId);
      if (known !== undefined) {
        known.changedAt = Date.now();
        return;
      }
      const label = `m${followed.size + 1}`;
      followed.set(messageId, { label, views: [], changedAt: Date.now() });
      print(`${label} is message ${messageId}`);
    },
    /** The deliveries of a message at the last poll. */
    seen: (messageId: string): readonly DeliveryView[] => followed.get(messageId)?.views ?? [],
    /** Whether a delivery.exhausted event has arrived for this delivery. */
    hasExhaustedEvent: (delivery: DeliveryView): boolean => reportedExhausted.has(buildKey(delivery)),
    /** Polls and prints until the condition holds or the signal aborts. */
    runUntil: (isDone: () => boolean): Promise<void> => {
      const sleep = (milliseconds: number): Promise<void> => pause(milliseconds, undefined, { signal });
      return poll({ interval: { floor: 0.25, ceiling: 1 }, sleep }, async () => {
        if (signal.aborted) return 'done';
        const news = await showNews();
        if (isDone()) return 'done';
        return news > 0 ? 'changed' : 'empty';
      });
    },
  };
}

function buildKey({ messageId, subscriptionId }: { messageId: string; subscriptionId: string }): string {
  return `${messageId}/${subscriptionId}`;
}

function isAwaited({ views, changedAt }: Followed): boolean {
  const isOpen = views.length === 0 || views.some(({ status }) => isOpenStatus(status));
  return isOpen || Date.now() - changedAt < QUIET_MS;
}

type FeedLine = {
  message: string;
  subscriber: string;
  view: DeliveryView;
  attempt: Attempt;
};

type Attempt = DeliveryView['attempts'][number];

const COLOURS = { delivered: 'green', failed: 'yellow', rejected: 'red' } as const;

/**
 * An attempt in at most 100 columns: time, message, subscriber, number, result, and the next step with its mechanism.
 */
export function feedLine({ message, subscriber, view, attempt }: FeedLine): string {
  const { outcome, statusCode, error, durationMs } = attempt;
  return [
    timeOfDay(attempt.startedAt),
    message.padEnd(2),
    subscriber.padEnd(9),
    `#${attempt.number} ${attempt.phase}`.padEnd(15),
    styleText(COLOURS[outcome], `${statusCode ?? error ?? 'no response'}, ${durationMs} ms`.padEnd(11)),
    nextStepText(view, attempt),
  ].join('  ');
}

/** A time of day in the local zone, with milliseconds. */
function timeOfDay(time: string): string {
  const [, toTheSecond = ''] = clockTime(time).split(' ');
  return `${toTheSecond}.${String(new Date(time).getMilliseconds()).padStart(3, '0')}`;
}

/** The next attempt, recorded or pending, or the end of the delivery. */
function nextStepText(view: DeliveryView, { number, outcome, startedAt, durationMs }: Attempt): string {
  const next = findAttempt(view, number + 1);
  if (next !== undefined) {
    const seconds = (Date.parse(next.dueAt) - Date.parse(startedAt) - durationMs) / 1000;
    const delay = seconds <= 0 ? 'at once' : `in ${seconds.toFixed(1)} s`;
    const mechanism = next.by === undefined ? '' : `, ${STARTED_BY[next.by]}`;
    return `→ #${next.number} ${next.phase} ${delay}${mechanism}`;
  }
  if (outcome === 'delivered') return styleText('green', '✓ delivered');
  if (outcome === 'rejected') return styleText('red', '✗ rejected, not retried');
  return styleText('red', view.status === 'cancelled' ? '✗ cancelled' : '✗ exhausted, no retries left');
}

function findAttempt({ attempts, nextAttempt }: DeliveryView, number: number) {
  const made = attempts.find((one) => one.number === number);
  if (made !== undefined) return { ...made, dueAt: made.dueAt ?? made.startedAt };
  return nextAttempt?.number === number ? nextAttempt : undefined;
}

type Names = Record<'subscriber' | 'message', (id: string) => string>;

/** An operator event as a line: time of arrival, type and details. */
export function eventLine(event: OperatorEventMessage, names: Names, at: Date): string {
  return [
    timeOfDay(at.toISOString()),
    styleText('magenta', `event ${event['detail-type']}`),
    eventDetails(event, names),
  ].join('  ');
}

function eventDetails({ 'detail-type': type, detail }: OperatorEventMessage, names: Names): string {
  const { subscriptionId } = detail;
  const subscriber = subscriptionId === undefined ? detail.queue : names.subscriber(subscriptionId);
  switch (type) {
    case 'attempt.failed':
      return `${names.message(detail.messageId)} to ${subscriber}, attempt ${detail.attempt} ${detail.outcome}`;
    case 'delivery.exhausted':
      return `${names.message(detail.messageId)} to ${subscriber}, after ${detail.attempts} attempts`;
    case 'subscription.disabled':
      return `${subscriber}, ${detail.reason}`;
    case 'subscription.failing':
      return `${subscriber}, ${detail.failures} failures since ${detail.since}`;
    case 'subscription.recovered':
      return `${subscriber}, had failed since ${detail.since}`;
    case 'subscription.slowed':
      return `${subscriber}, ${detail.reason} until ${detail.until}`;
    case 'subscription.resumed':
      return `${subscriber}, ${detail.reason} since ${detail.since}`;
    case 'deliveries.expiring':
      return `${subscriber}, paused since ${detail.since}; what waits is cancelled from ${detail.cancelledFrom} on`;
    case 'subscription.certificate_expiring':
      return `${subscriber}, at ${detail.expiresAt}`;
  }
}
