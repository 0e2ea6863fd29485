import * as z from 'zod';
import { DISABLE_REASONS } from '../../domain/vocabulary.ts';
import type { OperatorEvent } from '../../domain/operator-event.ts';
import { timeText, timeView } from '../fields.ts';

/** Every event of ours on the bus; a rule that wants them all matches it. */
export const EVENT_SOURCE = 'posthaste';

/** RFC 3339 in UTC with milliseconds. */

const subscriptionDetail = {
  /** The setting `deployment`. */
  deployment: z.string(),
  queue: z.string(),
  subscriptionId: z.string(),
};

function eventOf<Type extends OperatorEvent['type'], Detail extends z.ZodRawShape>(
  type: Type,
  detail: Detail,
) {
  return z.object({
    source: z.literal(EVENT_SOURCE),
    'detail-type': z.literal(type),
    detail: z.object(detail),
  });
}

/** What a target of a rule gets, without EventBridge's own fields: `version`, `id`, `account`, `time`, `region`, `resources`. */
export const operatorEventSchema = z.discriminatedUnion('detail-type', [
  eventOf('subscription.disabled', {
    ...subscriptionDetail,
    reason: z.enum(DISABLE_REASONS),
    at: timeView,
  }),
  eventOf('subscription.failing', {
    ...subscriptionDetail,
    /** When its spell of failures began, and how many there were when this was said. */
    since: timeView,
    failures: z.int().positive(),
  }),
  eventOf('subscription.recovered', {
    ...subscriptionDetail,
    /** That of the `subscription.failing` which it ends. */
    since: timeView,
    at: timeView,
  }),
  eventOf('delivery.exhausted', {
    ...subscriptionDetail,
    messageId: z.string(),
    /** In all rounds. */
    attempts: z.int().nonnegative(),
    /** When the last attempt was over. */
    at: timeView,
  }),
]);

export type OperatorEventMessage = z.output<typeof operatorEventSchema>;

export function operatorEventMessage(event: OperatorEvent, deployment: string): OperatorEventMessage {
  const source = EVENT_SOURCE;
  if (event.type === 'delivery.exhausted') {
    const { queue, subscriptionId, messageId } = event.key;
    const detail = {
      deployment,
      queue,
      subscriptionId,
      messageId,
      attempts: event.attempts,
      at: timeText(event.at),
    };
    return { source, 'detail-type': event.type, detail };
  }
  const about = { deployment, queue: event.queue, subscriptionId: event.subscriptionId };
  switch (event.type) {
    case 'subscription.disabled': {
      const detail = { ...about, reason: event.reason, at: timeText(event.at) };
      return { source, 'detail-type': event.type, detail };
    }
    case 'subscription.failing': {
      const detail = { ...about, since: timeText(event.since), failures: event.failures };
      return { source, 'detail-type': event.type, detail };
    }
    case 'subscription.recovered': {
      const detail = { ...about, since: timeText(event.since), at: timeText(event.at) };
      return { source, 'detail-type': event.type, detail };
    }
  }
}
