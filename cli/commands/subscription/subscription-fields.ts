import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { counted } from '../../output/counted.ts';
import { inWords } from '../../output/time-text.ts';
import { printable, printableJson } from '../../output/printable.ts';
import { fieldLines } from '../../output/table.ts';

/** The state of a subscription as a short text. */
export function stateOf({
  disabled,
  failing,
  confirmed,
  confirmation,
  backPressure,
}: SubscriptionView): string {
  if (disabled !== undefined) return `disabled (${printable(disabled.reason)})`;
  if (!confirmed) return confirmation === 'owed' ? 'unconfirmed (request not sent)' : 'unconfirmed';
  if (backPressure !== undefined) return PRESSURES[backPressure.reason];
  return failing === undefined ? 'enabled' : 'failing';
}

const PRESSURES: Record<NonNullable<SubscriptionView['backPressure']>['reason'], string> = {
  receiver_throttled: 'throttled by the subscriber',
  circuit_open: 'slowed, the subscriber is or was down',
};

function pressureText({ since, until, perSecond }: NonNullable<SubscriptionView['backPressure']>): string {
  return [
    `since ${printable(since)}`,
    ...(until === undefined ? [] : [`no request before ${printable(until)}`]),
    perSecond === undefined ? 'one request at a time' : `${perSecond} requests a second`,
  ].join(', ');
}

/** A subscription as text, one field per line. */
export function describeSubscription(view: SubscriptionView): string {
  const { id, source, name, subscriber, ttl, age, disabled, failing, backPressure, certificateExpiresAt } =
    view;
  const { auth, ...options } = view.options;
  return fieldLines([
    ['Subscription', printable(id)],
    ['Queue', printable(source)],
    ['Name', name && printable(name)],
    ['Subscriber', printable(subscriber)],
    ['State', stateOf(view)],
    ['Disabled at', disabled && printable(disabled.at)],
    [
      'Failing since',
      failing &&
        `${printable(failing.since)}, ${counted(failing.failures, 'counted failure', 'counted failures')}`,
    ],
    ['Back-pressure', backPressure && pressureText(backPressure)],
    ['Age', inWords(age)],
    ['Expires', ttl === null ? 'never' : `${inWords(ttl)} after creation, or after its ttl was last changed`],
    ['Authentication', auth && authText(auth)],
    ['Certificate expires', certificateExpiresAt && printable(certificateExpiresAt)],
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
