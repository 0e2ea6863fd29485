import type { Plan } from './plan.ts';
import { costOf, type RegionPrices } from './prices.ts';
import { REQUEST_UNIT, unitsOf } from './weight.ts';

/** What others charge for a million deliveries of the same messages, in dollars; data out left out, as everywhere. */
export type PeerCost = { peer: 'sns_http' | 'api_destinations'; perMillionDeliveries: number; note: string };

const MILLION = 1e6;

/** List prices; neither charges for a retry on its page. */
export function peersOf({ fanOut, payloadBytes }: Plan, prices: RegionPrices): PeerCost[] {
  const requests = unitsOf(payloadBytes, REQUEST_UNIT);
  const published = (requests * MILLION) / fanOut;
  return [
    {
      peer: 'sns_http',
      perMillionDeliveries:
        costOf(prices, 'snsPublishes', published) + costOf(prices, 'snsHttpDeliveries', MILLION),
      note: 'messages up to 256 KB, retries for an hour at most, no record of deliveries to ask',
    },
    {
      peer: 'api_destinations',
      perMillionDeliveries: costOf(prices, 'events', published) + costOf(prices, 'apiDestinations', MILLION),
      note: 'a rule for each subscriber, five targets a rule, 24 hours and 185 retries, timeout 5 s, no record of deliveries to ask',
    },
  ];
}
