import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import {
  type AttemptTrigger,
  isOpenStatus,
  type Mechanism,
} from '../../../../shared/domain/delivery/vocabulary.ts';
import { pollInterval } from '../../../../shared/domain/retry/poll-interval.ts';
import type { OperatorEventMessage } from '../../../../shared/wire/events/operator-event.ts';
import { type DeliveryView, STARTED_BY } from '../../../../shared/wire/views/delivery.ts';
import { clockTime } from '../../../output/words.ts';
import { nextStep, type NextStep } from './verdict.ts';

/** How long a message is still polled after its last delivery has ended. */
const QUIET_MS = 15_000;

type FeedOptions = {
  /** The deliveries of a message; none until it is recorded. */
  deliveriesOf: (messageId: string) => Promise<DeliveryView[]>;
  nameOf: (subscriptionId: string) => string;
  /** New operator events since the last call. */
  takeEvents: () => Promise<readonly OperatorEventMessage[]>;
  print: (line: string) => void;
  signal: AbortSignal;
};

export type Feed = {
  /** Shows the attempts of a message from now on; idempotent. */
  follow: (messageId: string) => void;
  /** The deliveries of a message at the last poll. */
  seen: (messageId: string) => readonly DeliveryView[];
  /** Whether a delivery.exhausted event has arrived for this delivery. */
  hasExhaustedEvent: (delivery: DeliveryView) => boolean;
  /** Polls and prints until the condition holds or the signal aborts. */
  runUntil: (isDone: () => boolean) => Promise<void>;
};

type Followed = { label: string; views: DeliveryView[]; shown: Map<string, number>; changedAt: number };

/**
 * Prints every attempt of the followed messages once, in chronological order, and operator events as they arrive.
 */
export function createFeed(options: FeedOptions): Feed {
  const followed = new Map<string, Followed>();

  const newLines = (message: Followed, views: DeliveryView[]): FeedLine[] => {
    const lines: FeedLine[] = [];
    for (const view of views) {
      const shown = message.shown.get(view.subscriptionId) ?? 0;
      for (const attempt of view.attempts.filter(({ number }) => number > shown)) {
        const step = nextStep(view, attempt.number);
        const subscriber = options.nameOf(view.subscriptionId);
        if (step !== undefined) lines.push({ message: message.label, subscriber, attempt, step });
      }
      message.shown.set(view.subscriptionId, view.attempts.length);
    }
    return lines;
  };

  const reportedExhausted = new Set<string>();
  const names = {
    subscriber: options.nameOf,
    message: (messageId: string) => followed.get(messageId)?.label ?? messageId,
  };

  const printEvents = async (): Promise<number> => {
    const news = await options.takeEvents();
    for (const event of news) {
      options.print(eventLine(event, names, new Date()));
      if (event['detail-type'] === 'delivery.exhausted') reportedExhausted.add(nameOf(event.detail));
    }
    return news.length;
  };

  const poll = async (): Promise<number> => {
    const now = Date.now();
    const awaited = [...followed].filter(([, message]) => isAwaited(message, now));
    const found = await Promise.all(
      awaited.map(async ([messageId, message]) => {
        const views = await options.deliveriesOf(messageId);
        const lines = newLines(message, views);
        message.views = views;
        if (lines.length > 0) message.changedAt = Date.now();
        return lines;
      }),
    );
    const lines = found
      .flat()
      .toSorted((one, other) => one.attempt.startedAt.localeCompare(other.attempt.startedAt));
    for (const line of lines) options.print(feedLine(line));
    return lines.length + (await printEvents());
  };

  return {
    follow: (messageId) => {
      const known = followed.get(messageId);
      if (known !== undefined) {
        known.changedAt = Date.now();
        return;
      }
      const label = `m${followed.size + 1}`;
      followed.set(messageId, { label, views: [], shown: new Map(), changedAt: Date.now() });
      options.print(`${label} is message ${messageId}`);
    },
    seen: (messageId) => followed.get(messageId)?.views ?? [],
    hasExhaustedEvent: (delivery) => reportedExhausted.has(nameOf(delivery)),
    runUntil: async (isDone) => {
      let interval = pollInterval({ floor: 0.25, ceiling: 1 });
      while (!options.signal.aborted) {
        interval = (await poll()) > 0 ? interval.afterMessage() : interval.afterEmpty();
        if (isDone()) return;
        await pause(interval.wait * 1000, undefined, { signal: options.signal });
      }
    },
  };
}

function nameOf({ messageId, subscriptionId }: { messageId: string; subscriptionId: string }): string {
  return `${messageId}/${subscriptionId}`;
}

function isAwaited({ views, changedAt }: Followed, now: number): boolean {
  return views.length === 0 || views.some(({ status }) => isOpenStatus(status)) || now - changedAt < QUIET_MS;
}

type FeedLine = {
  message: string;
  subscriber: string;
  attempt: DeliveryView['attempts'][number];
  step: NextStep;
};

const COLOURS = { delivered: 'green', failed: 'yellow', rejected: 'red' } as const;

/**
 * An attempt in at most 100 columns: time, message, subscriber, number, result, and the next step with its mechanism.
 */
export function feedLine({ message, subscriber, attempt, step }: FeedLine): string {
  const { outcome, statusCode, error, durationMs } = attempt;
  return [
    timeOfDay(attempt.startedAt),
    message.padEnd(2),
    subscriber.padEnd(9),
    `#${attempt.number} ${attempt.phase}`.padEnd(15),
    styleText(COLOURS[outcome], `${statusCode ?? error ?? 'no response'}, ${durationMs} ms`.padEnd(11)),
    stepText(step),
  ].join('  ');
}

/** A time of day in the local zone, with milliseconds. */
function timeOfDay(time: string): string {
  const [, toTheSecond = ''] = clockTime(time).split(' ');
  return `${toTheSecond}.${String(new Date(time).getMilliseconds()).padStart(3, '0')}`;
}

function stepText(step: NextStep): string {
  switch (step.kind) {
    case 'delivered':
      return styleText('green', '✓ delivered');
    case 'rejected':
      return styleText('red', '✗ rejected, not retried');
    case 'exhausted':
      return styleText('red', '✗ exhausted, no retries left');
    case 'cancelled':
      return styleText('red', '✗ cancelled');
    case 'next':
      return `→ #${step.next.number} ${step.next.phase} ${delayText(step)}${mechanismText(step.next.by)}`;
  }
}

function mechanismText(by: AttemptTrigger | Mechanism | undefined): string {
  return by === undefined ? '' : `, ${STARTED_BY[by]}`;
}

function delayText({ next, endedAt }: Extract<NextStep, { kind: 'next' }>): string {
  const seconds = (next.dueAt - endedAt) / 1000;
  return seconds <= 0 ? 'at once' : `in ${seconds.toFixed(1)} s`;
}

type Names = {
  subscriber: (subscriptionId: string) => string;
  message: (messageId: string) => string;
};

/** An operator event as a line: time of arrival, type and details. */
export function eventLine(event: OperatorEventMessage, names: Names, at: Date): string {
  return [
    timeOfDay(at.toISOString()),
    styleText('magenta', `event ${event['detail-type']}`),
    eventDetails(event, names),
  ].join('  ');
}

function eventDetails({ 'detail-type': type, detail }: OperatorEventMessage, names: Names): string {
  const subscriber = names.subscriber(detail.subscriptionId);
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
    case 'subscription.certificate_expiring':
      return `${subscriber}, at ${detail.expiresAt}`;
  }
}
