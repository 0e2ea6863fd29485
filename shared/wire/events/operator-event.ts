import * as z from 'zod';
import { OUTCOMES } from '../../domain/retry/vocabulary.ts';
import { DISABLE_REASONS, PRESSURE_REASONS } from '../../domain/subscription/vocabulary.ts';
import { pickIds } from '../../domain/delivery/delivery.ts';
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

/** Checked by its type alone: an event that the schema would refuse is sent rather than lost. */
export function operatorEventMessage(event: OperatorEvent, deployment: string): OperatorEventMessage {
  const build = <Shown extends { type: string }>({ type, ...facts }: Shown) => {
    const detailType: Shown['type'] = type;
    return { source: EVENT_SOURCE, 'detail-type': detailType, detail: { deployment, ...facts } } as const;
  };
  switch (event.type) {
    case 'subscription.disabled':
      return build({ ...event, at: timeText(event.at) });
    case 'subscription.failing':
      return build({ ...event, since: timeText(event.since) });
    case 'subscription.recovered':
      return build({ ...event, since: timeText(event.since), at: timeText(event.at) });
    case 'subscription.resumed':
      return build({ ...event, since: timeText(event.since), at: timeText(event.at) });
    case 'subscription.slowed':
      return build({ ...event, since: timeText(event.since), until: timeText(event.until) });
    case 'subscription.certificate_expiring':
      return build({ ...event, expiresAt: timeText(event.expiresAt) });
    case 'deliveries.expiring': {
      const { since, cancelledFrom } = event;
      return build({ ...event, since: timeText(since), cancelledFrom: timeText(cancelledFrom) });
    }
    case 'attempt.failed': {
      const { key, nextAt, ...facts } = event;
      const next = nextAt === undefined ? {} : { nextAt: timeText(nextAt) };
      return build({ ...pickIds(key), ...facts, at: timeText(facts.at), ...next });
    }
    case 'delivery.exhausted': {
      const { key, ...facts } = event;
      return build({ ...pickIds(key), ...facts, at: timeText(facts.at) });
    }
  }
}
