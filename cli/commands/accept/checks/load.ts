import { Command } from 'commander';
import { listDeliveriesOfSubscription } from '../../../../api-client/operations.ts';
import { addPlanOptions, buildPlan, DAYS_A_MONTH, type PlanOptions, SECONDS_A_DAY } from '../../plan/load.ts';
import { type Bill, computePlan } from '../../plan/planned.ts';
import { builtInPrices } from '../../plan/prices.ts';
import { type Check, isNotPermitted, passed } from '../check.ts';
import { computeMillionCost, type Quantities, readQuantities } from '../measured-cost.ts';
import { createQueue, requests, subscribe } from '../scenario.ts';
import type { World } from '../world.ts';

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
    // Four minutes of them for the metrics, which come late.
    seconds: 360,
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
      // In the order of their arrival.
      const took = ((seen.at(-1)?.at ?? startedAt) - startedAt) / 1000;
      const path = { queue, subscription: subscribed.subscription };
      const query = { since: new Date(startedAt).toISOString(), until: new Date().toISOString() };
      const { items } = await world.api.items(listDeliveriesOfSubscription, { path, query, most: SAMPLE });
      const latencies = items
        .flatMap(({ deliveredAfterMs }) => deliveredAfterMs ?? [])
        .toSorted((a, b) => a - b);
      const at = (part: number): string =>
        `${latencies[Math.floor(part * (latencies.length - 1))] ?? '?'} ms`;
      const repeats = seen.length - new Set(seen.map(({ messageId }) => messageId)).size;
      const quantities = await measure(world, startedAt, Date.now());
      return passed(
        `${count} deliveries in ${took.toFixed(1)} s: ${(count / took).toFixed(1)}/s; from acceptance to answer p50 ${at(0.5)}, p99 ${at(0.99)} of ${latencies.length}; ${repeats} repeated; ${describeBill(count, took, quantities)}`,
      );
    },
  },
];

const PRICES = builtInPrices.regions['us-east-1'];

/**
 * The bill of a month at the rate of a run by the defaults of `posthaste plan`, and beside it what was measured, or why it
 * was not. `took`: seconds.
 */
export function describeBill(count: number, took: number, quantities: Quantities | string): string {
  const perDay = Math.max(1, Math.round((count / took) * SECONDS_A_DAY));
  const { usd, traffic } = planBill(perDay);
  const planned = `a month at this rate costs about $${usd.toFixed(2)} by posthaste plan`;
  if (typeof quantities === 'string') return `${planned}; the bill was not measured here: ${quantities}`;
  const perMonth = perDay * DAYS_A_MONTH;
  const same = new Map(
    traffic.flatMap(({ what, quantity }) => (quantities.has(what) ? [[what, quantity]] : [])),
  );
  const describe = (perMillion: number): string =>
    `$${perMillion.toFixed(2)} a million deliveries, $${((perMillion * perMonth) / 1e6).toFixed(2)} a month`;
  const measured = describe(computeMillionCost(quantities, count, PRICES));
  const expected = describe(computeMillionCost(same, perMonth, PRICES));
  return `${planned}; of that Lambda, SQS and DynamoDB ${expected}, and as measured ${measured}`;
}

function planBill(perDay: number): Bill {
  const given = ['--messages-per-day', String(perDay)];
  const { region: _, ...load } = addPlanOptions(new Command())
    .parse(given, { from: 'user' })
    .opts<PlanOptions>();
  return computePlan(buildPlan(load), PRICES).bill;
}

/** The quantities of a run, or why there are none. */
async function measure(world: World, since: number, until: number): Promise<Quantities | string> {
  if (world.isLocal) return 'this AWS has no metrics of SQS and DynamoDB';
  const { CloudWatch } = await import('@aws-sdk/client-cloudwatch');
  const cloudWatch = new CloudWatch(world.deployment.client);
  try {
    const time = { since, until, signal: world.signal };
    const quantities = await readQuantities(
      (input) => cloudWatch.getMetricData(input),
      await world.stacks(),
      time,
    );
    return quantities ?? 'CloudWatch has no metrics of Lambda, SQS or DynamoDB after ten minutes';
  } catch (error) {
    // The load is measured all the same.
    if (error instanceof Error && isNotPermitted(error))
      return `your credentials do not permit it: ${error.message}`;
    throw error;
  }
}
