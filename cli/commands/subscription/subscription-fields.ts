import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { inWords } from '../../output/time-text.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { fieldLines } from '../../output/table.ts';

/** In a word or two. */
export function stateOf({ disabled, failing, confirmed, confirmation }: SubscriptionView): string {
  if (disabled !== undefined) return `disabled (${printable(disabled.reason)})`;
  if (!confirmed) return confirmation === 'owed' ? 'unconfirmed (not asked yet)' : 'unconfirmed';
  return failing === undefined ? 'enabled' : 'failing';
}

/** A subscription for people. */
export function describeSubscription(view: SubscriptionView): string {
  const { id, source, subscriber, ttl, age, options, disabled, failing } = view;
  return fieldLines([
    ['Subscription', printable(id)],
    ['Queue', printable(source)],
    ['Subscriber', printable(subscriber)],
    ['State', stateOf(view)],
    ['Disabled at', disabled && printable(disabled.at)],
    ['Failing since', failing && `${printable(failing.since)}, ${failing.failures} failures`],
    ['Age', inWords(age)],
    ['Time to live', ttl === null ? 'without end' : inWords(ttl)],
    ['Options', printableJson(JSON.stringify(options))],
  ]).join('\n');
}
