import { type AllowedPlaces, subscriberUrlFault } from './address-guard.ts';

/**
 * The fault of a token endpoint's URL that can be found without DNS, in the words of `subscriberUrlFault`. Always https,
 * because a secret is sent to it.
 * @throws InvalidAddressRange, InvalidPortRange
 */
export function tokenUrlFault(text: string, places: AllowedPlaces): string | undefined {
  if (!/^https:/i.test(text)) return 'must be an https URL';
  const fault = subscriberUrlFault(text, places);
  return fault === undefined && text.includes('#') ? 'must not contain a fragment' : fault;
}
