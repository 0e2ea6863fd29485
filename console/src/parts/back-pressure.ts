import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';

type BackPressure = NonNullable<SubscriptionView['backPressure']>;

/** A subscription that gets fewer requests than it could (docs/retry-policy.md#back-pressure), in words. */
type PressureWords = { state: string; title: string; detail: string };

export function pressureWords({ reason, perSecond }: BackPressure): PressureWords {
  const detail = `${paceText(perSecond)} Other deliveries wait, which uses none of their attempts.`;
  if (reason === 'receiver_throttled')
    return {
      state: 'throttled',
      title: 'The subscriber asked for fewer requests',
      detail: `It answered 429, or 503 with Retry-After. ${detail}`,
    };
  return perSecond === undefined
    ? { state: 'circuit open', title: 'The circuit is open: the subscriber is down', detail }
    : { state: 'slowed', title: 'The subscriber was down and answers again', detail };
}

function paceText(perSecond: number | undefined): string {
  return perSecond === undefined
    ? 'It gets one request at a time until it answers.'
    : `It gets at most ${perSecond} requests a second now, and more while it takes them.`;
}
