import { Command } from 'commander';
import { listDeliveriesOfSubscription } from '../../../../api-client/operations.ts';
import { addPlanOptions, buildPlan, type PlanOptions, SECONDS_A_DAY } from '../../plan/load.ts';
import { computePlan } from '../../plan/planned.ts';
import { regionPrices } from '../../plan/prices.ts';
import { type Check, passed } from '../check.ts';
import { createQueue, requests, subscribe } from '../scenario.ts';

/** Messages in one call. */
const TOGETHER = 1000;

/** Deliveries whose latency is read. */
const SAMPLE = 1000;

/** Deliveries a second that any deployment makes. */
const SLOWEST = 2;

export const loadChecks: readonly Check[] = [
  {
    id: 'load',
    title: 'A load of deliveries, as --load says',
    seconds: 120,
    alone: true,
    run: async (world) => {
      const count = world.load ?? 100;
      const queue = await createQueue(world, 'load');
      const subscribed = await subscribe(world, queue);
      const startedAt = Date.now();
      for (let sent = 0; sent < count; sent += TOGETHER) {
        const size = Math.min(TOGETHER, count - sent);
        const messages = Array.from({ length: size }, (_, index) => ({
          queue,
          data: { number: sent + index },
        }));
        await world.publisher.publishBatch(messages, { signal: world.signal });
      }
      const seen = await requests(world, subscribed, count, 120 + count / SLOWEST);
      const took = (Math.max(...seen.map(({ at }) => at)) - startedAt) / 1000;
      const path = { queue, subscription: subscribed.subscription };
      const query = { since: new Date(startedAt).toISOString(), until: new Date().toISOString() };
      const { items } = await world.api.items(listDeliveriesOfSubscription, { path, query, most: SAMPLE });
      const latencies = items
        .flatMap(({ deliveredAfterMs }) => deliveredAfterMs ?? [])
        .toSorted((a, b) => a - b);
      const at = (part: number): string =>
        `${latencies[Math.floor(part * (latencies.length - 1))] ?? '?'} ms`;
      const repeats = seen.length - new Set(seen.map(({ messageId }) => messageId)).size;
      return passed(
        `${count} deliveries in ${took.toFixed(1)} s: ${(count / took).toFixed(1)}/s; from acceptance to answer p50 ${at(0.5)}, p99 ${at(0.99)} of ${latencies.length}; ${repeats} repeated; a month at this rate costs about $${estimateBill(count / took)} by posthaste plan`,
      );
    },
  },
];

/** Dollars a month of a trickle of that many messages a second, for the defaults of `posthaste plan`. */
function estimateBill(perSecond: number): string {
  const perDay = Math.max(1, Math.round(perSecond * SECONDS_A_DAY));
  const command = addPlanOptions(new Command()).parse(['--messages-per-day', String(perDay)], {
    from: 'user',
  });
  const { region, ...load } = command.opts<PlanOptions>();
  const prices = regionPrices(region);
  return prices.ok ? computePlan(buildPlan(load), prices.value.prices).bill.usd.toFixed(2) : '?';
}
