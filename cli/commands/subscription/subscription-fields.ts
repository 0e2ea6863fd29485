import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { type BackPressure, counted, pressureState } from '../../../api-client/words.ts';
import { clockTime, inWords } from '../../output/time-text.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { fieldLines } from '../../output/table.ts';

/** The state of a subscription in few words. */
export function stateOf({
  disabled,
  failing,
  confirmed,
  confirmation,
  backPressure,
}: SubscriptionView): string {
  if (disabled !== undefined) return `disabled (${printable(disabled.reason)})`;
  if (!confirmed) return confirmation === 'owed' ? 'unconfirmed (request not sent)' : 'unconfirmed';
  if (backPressure !== undefined) return pressureState(backPressure);
  return failing === undefined ? 'enabled' : 'failing';
}

/** The same, and under back-pressure what it means. */
function stateText(view: SubscriptionView): string {
  const { disabled, confirmed, backPressure } = view;
  return disabled !== undefined || !confirmed || backPressure === undefined
    ? stateOf(view)
    : pressureText(backPressure);
}

function pressureText({ reason, since, perSecond }: BackPressure): string {
  const pace = perSecond === undefined ? 'one request at a time' : `at most ${perSecond} requests a second`;
  const cause =
    reason === 'receiver_throttled' ? ' since a refusal at' : ', the subscriber is or was down since';
  return `enabled, ${pace}${cause} ${clockTime(since)}`;
}

/** A subscription as text, one field per line. `waiting`: how many deliveries wait and why. */
export function describeSubscription(view: SubscriptionView, waiting?: string): string {
  const { id, source, name, subscriber, ttl, age, disabled, failing, certificateExpiresAt } = view;
  const { auth, ...options } = view.options;
  return fieldLines([
    ['Subscription', printable(id)],
    ['Queue', printable(source)],
    ['Name', name && printable(name)],
    ['Subscriber', printable(subscriber)],
    ['State', stateText(view)],
    ['Disabled at', disabled && clockTime(disabled.at)],
    [
      'Failing since',
      failing &&
        `${clockTime(failing.since)}, ${counted(failing.failures, 'counted failure', 'counted failures')}`,
    ],
    ['Waiting', waiting],
    ['Age', inWords(age)],
    ['Expires', ttl === null ? 'never' : `${inWords(ttl)} after creation, or after its ttl was last changed`],
    ['Authentication', auth && authText(auth)],
    ['Certificate expires', certificateExpiresAt && clockTime(certificateExpiresAt)],
    ['Options', printableJson(JSON.stringify(options))],
  ]).join('\n');
}

/** Without certificates, which are long; `--json` shows them. */
function authText({ type, ...fields }: NonNullable<SubscriptionView['options']['auth']>): string {
  const short = Object.entries(fields).filter(
    ([, value]) => typeof value === 'string' && !value.includes('-----'),
  );
  return printable([type, ...short.map(([name, value]) => `${name}: ${String(value)}`)].join(', '));
}
