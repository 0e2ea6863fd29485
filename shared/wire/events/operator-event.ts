import * as z from 'zod';
import { OUTCOMES } from '../../domain/retry/vocabulary.ts';
import { DISABLE_REASONS, PRESSURE_REASONS } from '../../domain/subscription/vocabulary.ts';
import type { OperatorEvent } from '../../domain/delivery/operator-event.ts';
import { timeText, timeView } from '../fields.ts';

/** Source of all Posthaste events on the bus; a rule for all events matches it. */
export const EVENT_SOURCE = 'posthaste';

const subscriptionDetail = {
  /** The setting `deployment`. */
  deployment: z.string(),
  queue: z.string(),
  subscriptionId: z.string(),
};

function buildEventSchema<Type extends OperatorEvent['type'], Detail extends z.ZodRawShape>(
  type: Type,
  detail: Detail,
) {
  return z.object({
    source: z.literal(EVENT_SOURCE),
    'detail-type': z.literal(type),
    detail: z.object({ ...subscriptionDetail, ...detail }),
  });
}

/**
 * An event as a rule's target receives it, without EventBridge's fields `version`, `id`, `account`, `time`,
 * `region`, `resources`.
 */
export const operatorEventSchema = z.discriminatedUnion('detail-type', [
  buildEventSchema('subscription.disabled', {
    reason: z.enum(DISABLE_REASONS),
    at: timeView,
  }),
  buildEventSchema('subscription.failing', {
    /** Start of the failure streak, and its failures so far. */
    since: timeView,
    failures: z.int().positive(),
  }),
  buildEventSchema('subscription.recovered', {
    /** `since` of the `subscription.failing` event that it ends. */
    since: timeView,
    at: timeView,
  }),
  buildEventSchema('attempt.failed', {
    messageId: z.string(),
    attempt: z.int().positive(),
    outcome: z.enum(OUTCOMES).exclude(['delivered']),
    statusCode: z.int().exactOptional(),
    error: z.string().exactOptional(),
    /** When the attempt ended. */
    at: timeView,
    /** Absent if there is no retry. */
    nextAt: timeView.exactOptional(),
  }),
  buildEventSchema('subscription.slowed', {
    reason: z.enum(PRESSURE_REASONS),
    /** Start of the episode, and when the next request may start. */
    since: timeView,
    until: timeView,
  }),
  buildEventSchema('subscription.resumed', {
    /** `reason` and `since` of the last `subscription.slowed` event of the episode. */
    reason: z.enum(PRESSURE_REASONS),
    since: timeView,
    at: timeView,
  }),
  buildEventSchema('subscription.certificate_expiring', {
    expiresAt: timeView,
    /** Which warning it is: 30, 7 or 1 days ahead. */
    days: z.int().positive(),
  }),
  z.object({
    source: z.literal(EVENT_SOURCE),
    'detail-type': z.literal('deliveries.expiring'),
    detail: z.object({
      ...subscriptionDetail,
      /** Absent if the queue is paused. */
      subscriptionId: z.string().exactOptional(),
      /** When the pause began, and from when on what waits is cancelled. */
      since: timeView,
      cancelledFrom: timeView,
    }),
  }),
  buildEventSchema('delivery.exhausted', {
    messageId: z.string(),
    /** In all rounds. */
    attempts: z.int().nonnegative(),
    /** When the last attempt ended. */
    at: timeView,
  }),
]);

export type OperatorEventMessage = z.output<typeof operatorEventSchema>;

export function operatorEventMessage(event: OperatorEvent, deployment: string): OperatorEventMessage {
  if (event.type === 'deliveries.expiring') {
    const { type, since, cancelledFrom, ...place } = event;
    const times = { since: timeText(since), cancelledFrom: timeText(cancelledFrom) };
    return messageOf(type, { deployment, ...place, ...times });
  }
  const { queue, subscriptionId } = 'key' in event ? event.key : event;
  const about = { deployment, queue, subscriptionId };
  switch (event.type) {
    case 'attempt.failed': {
      const { type, key, at, nextAt, ...result } = event;
      const times = { at: timeText(at), ...(nextAt !== undefined && { nextAt: timeText(nextAt) }) };
      return messageOf(type, { ...about, messageId: key.messageId, ...result, ...times });
    }
    case 'delivery.exhausted': {
      const { type, key, attempts, at } = event;
      return messageOf(type, { ...about, messageId: key.messageId, attempts, at: timeText(at) });
    }
    case 'subscription.disabled':
      return messageOf(event.type, { ...about, reason: event.reason, at: timeText(event.at) });
    case 'subscription.failing':
      return messageOf(event.type, { ...about, since: timeText(event.since), failures: event.failures });
    case 'subscription.recovered':
      return messageOf(event.type, { ...about, since: timeText(event.since), at: timeText(event.at) });
    case 'subscription.slowed': {
      const { type, reason, since, until } = event;
      return messageOf(type, { ...about, reason, since: timeText(since), until: timeText(until) });
    }
    case 'subscription.resumed': {
      const { type, reason, since, at } = event;
      return messageOf(type, { ...about, reason, since: timeText(since), at: timeText(at) });
    }
    case 'subscription.certificate_expiring':
      return messageOf(event.type, { ...about, expiresAt: timeText(event.expiresAt), days: event.days });
  }
}

function messageOf<Type extends string, Detail>(type: Type, detail: Detail) {
  return { source: EVENT_SOURCE, 'detail-type': type, detail } as const;
}
