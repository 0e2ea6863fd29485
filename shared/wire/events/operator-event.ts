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
  const build = <Type extends string, Facts>(type: Type, facts: Facts) =>
    ({ source: EVENT_SOURCE, 'detail-type': type, detail: { deployment, ...facts } }) as const;
  switch (event.type) {
    case 'subscription.disabled': {
      const { type, at, ...facts } = event;
      return build(type, { ...facts, at: timeText(at) });
    }
    case 'subscription.failing': {
      const { type, since, ...facts } = event;
      return build(type, { ...facts, since: timeText(since) });
    }
    case 'subscription.recovered': {
      const { type, since, at, ...facts } = event;
      return build(type, { ...facts, since: timeText(since), at: timeText(at) });
    }
    case 'subscription.slowed': {
      const { type, since, until, ...facts } = event;
      return build(type, { ...facts, since: timeText(since), until: timeText(until) });
    }
    case 'subscription.resumed': {
      const { type, since, at, ...facts } = event;
      return build(type, { ...facts, since: timeText(since), at: timeText(at) });
    }
    case 'subscription.certificate_expiring': {
      const { type, expiresAt, ...facts } = event;
      return build(type, { ...facts, expiresAt: timeText(expiresAt) });
    }
    case 'deliveries.expiring': {
      const { type, since, cancelledFrom, ...facts } = event;
      return build(type, { ...facts, since: timeText(since), cancelledFrom: timeText(cancelledFrom) });
    }
    case 'attempt.failed': {
      const { type, key, at, nextAt, ...facts } = event;
      const times = { at: timeText(at), ...(nextAt !== undefined && { nextAt: timeText(nextAt) }) };
      return build(type, { ...pickIds(key), ...facts, ...times });
    }
    case 'delivery.exhausted': {
      const { type, key, at, ...facts } = event;
      return build(type, { ...pickIds(key), ...facts, at: timeText(at) });
    }
  }
}
