import { styleText } from 'node:util';
import type { OperatorEventMessage } from '../../../../shared/wire/events/operator-event.ts';
import { clockTime } from './feed-line.ts';

export type Names = {
  subscriber: (subscriptionId: string) => string;
  message: (messageId: string) => string;
};

/** An operator event as a line: time of arrival, type and details. */
export function eventLine(event: OperatorEventMessage, names: Names, at: Date): string {
  return [
    clockTime(at.toISOString()),
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
