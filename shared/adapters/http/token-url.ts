import { type AllowedPlaces, subscriberUrlFault } from './address-guard.ts';

/**
 * The fault of a token endpoint's URL that can be found without DNS, in the words of `subscriberUrlFault`. A secret is
 * sent to it, so http is only for literal private addresses that `allowedAddresses` opens.
 * @throws InvalidAddressRange, InvalidPortRange
 */
export function tokenUrlFault(text: string, places: AllowedPlaces): string | undefined {
  if (!/^https?:/i.test(text)) return 'must be an https URL';
  const fault = subscriberUrlFault(text, places);
  if (fault !== undefined) return fault;
  if (text.includes('#')) return 'must not contain a fragment';
  const isOpenedBySetting = subscriberUrlFault(text, { allowedAddresses: [] }) !== undefined;
  return /^https:/i.test(text) || isOpenedBySetting ? undefined : 'must be an https URL';
}
