import { styleText } from 'node:util';
import type { OperatorEventMessage } from '../../shared/wire/events/operator-event.ts';
import { clockTime } from './feed-line.ts';

export type Names = {
  subscriber: (subscriptionId: string) => string;
  message: (messageId: string) => string;
};

/** One event in a line: when it came, what it is called, and what it says. */
export function newsLine(event: OperatorEventMessage, names: Names, at: Date): string {
  return [
    clockTime(at.toISOString()),
    styleText('magenta', `event ${event['detail-type']}`),
    saying(event, names),
  ].join('  ');
}

function saying({ 'detail-type': type, detail }: OperatorEventMessage, names: Names): string {
  const subscriber = names.subscriber(detail.subscriptionId);
  switch (type) {
    case 'delivery.exhausted':
      return `${names.message(detail.messageId)} to ${subscriber}, after ${detail.attempts} attempts`;
    case 'subscription.disabled':
      return `${subscriber}, ${detail.reason}`;
    case 'subscription.failing':
      return `${subscriber}, ${detail.failures} failures since ${detail.since}`;
    case 'subscription.recovered':
      return `${subscriber}, had failed since ${detail.since}`;
  }
}
