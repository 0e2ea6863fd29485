import type { SubscriptionView } from '../../shared/wire/views/subscription.ts';

export type BackPressure = NonNullable<SubscriptionView['backPressure']>;

/** The state of a slowed subscription (docs/retry-policy.md#back-pressure), in the words of the command and the console. */
export function pressureState({ reason, perSecond }: BackPressure): 'throttled' | 'circuit open' | 'slowed' {
  if (reason === 'receiver_throttled') return 'throttled';
  return perSecond === undefined ? 'circuit open' : 'slowed';
}
