import { setTimeout as pause } from 'node:timers/promises';
import { isOpen } from '../../shared/domain/delivery/delivery.ts';
import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';
import type { DeliveryView } from '../../shared/wire/views/delivery.ts';
import type { OperatorEventMessage } from '../../shared/wire/events/operator-event.ts';
import type { ApiClient } from './api-client.ts';
import { feedLine, type FeedLine } from './feed-line.ts';
import { newsLine } from './news-line.ts';
import { nextStep } from './next-step.ts';

/** A message whose deliveries are all over is looked at for this long yet. */
const QUIET_MS = 15_000;

export type FeedOptions = {
  api: ApiClient;
  queue: string;
  nameOf: (subscriptionId: string) => string;
  /** What operators were told since it was asked last. */
  news: () => Promise<readonly OperatorEventMessage[]>;
  print: (line: string) => void;
  signal: AbortSignal;
};

export type Feed = {
  /** Shows the attempts of a message from now on. Once is enough. */
  follow: (messageId: string) => void;
  /** The deliveries of a message as last seen. */
  seen: (messageId: string) => readonly DeliveryView[];
  /** Whether operators were told that this delivery is exhausted. */
  isTold: (delivery: DeliveryView) => boolean;
  /** Polls until the condition holds; ends with the signal. */
  runUntil: (isDone: () => boolean) => Promise<void>;
};

type Followed = { label: string; views: DeliveryView[]; shown: Map<string, number>; changedAt: number };

/**
 * Prints every attempt of the messages it follows, once, in the order in which they were made, and what operators are
 * told as it comes.
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

  const toldOf = new Set<string>();
  const names = {
    subscriber: options.nameOf,
    message: (messageId: string) => followed.get(messageId)?.label ?? messageId,
  };

  const printNews = async (): Promise<number> => {
    const news = await options.news();
    for (const event of news) {
      options.print(newsLine(event, names, new Date()));
      if (event['detail-type'] === 'delivery.exhausted') toldOf.add(nameOf(event.detail));
    }
    return news.length;
  };

  const look = async (): Promise<number> => {
    const now = Date.now();
    const awaited = [...followed].filter(([, message]) => isAwaited(message, now));
    const found = await Promise.all(
      awaited.map(async ([messageId, message]) => {
        const views = (await options.api.deliveriesOf(options.queue, messageId)) ?? [];
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
    return lines.length + (await printNews());
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
    isTold: (delivery) => toldOf.has(nameOf(delivery)),
    runUntil: async (isDone) => {
      let interval = pollInterval({ floor: 0.25, ceiling: 1 });
      while (!options.signal.aborted) {
        interval = (await look()) > 0 ? interval.afterMessage() : interval.afterEmpty();
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
  return views.length === 0 || views.some(({ status }) => isOpen(status)) || now - changedAt < QUIET_MS;
}
