import type { Command } from 'commander';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { reportInvalid } from '../../failure-report.ts';
import { examplesText } from '../../options/deployment-options.ts';
import { readInput, givenPolicy } from '../../options/input.ts';
import type { PartialRetryPolicy } from '../../../shared/domain/retry/policy.ts';
import type { Terminal } from '../../terminal.ts';
import { addPlanOptions, planOf, type PlanOptions } from './options.ts';
import { computePlan, type Outage } from './planned.ts';
import { regionPrices, type RegionPrices, type Validated } from './prices.ts';
import { planText } from './text.ts';

const HELP = `
Works without a deployment. The operations per delivery were counted with npm
run bench:operations, and prices are AWS list prices; docs/cost-and-performance.md describes
the method and the assumptions.`;

const EXAMPLES = [
  'plan --messages-per-day 1000000 --fan-out 3 --failure-rate 0.01',
  'plan --messages-per-day 5000000 --policy \'{"maximum_delay": 3600}\' --outage-hours 6 --outage-share 0.5',
];

/** `posthaste plan`: estimated cost and required quotas of a load. */
export function addPlan(command: Command, terminal: Terminal): void {
  addPlanOptions(command)
    .addHelpText('after', `${HELP}${examplesText(EXAMPLES)}\n\nExit status: 0, or 2 if a value is invalid.`)
    .action((options: PlanOptions) => plan(options, terminal));
}

async function plan(options: PlanOptions, terminal: Terminal): Promise<void> {
  const request = await requestOf(options, terminal);
  if (!request.ok) {
    const error = { code: 'invalid_request', fields: request.fields };
    reportInvalid('The plan', error, options.json === true, terminal);
    return;
  }
  const { policy, outage, prices } = request.value;
  const result = computePlan(planOf(options, policy), prices.prices, outage);
  const sources = { region: options.region, pricesAsOf: prices.asOf };
  terminal.print(
    options.json === true ? JSON.stringify({ ...result, ...sources }) : planText(result, sources),
  );
}

const MAX_PRICES_BYTES = 1024 * 1024;

type PlanRequest = {
  policy: PartialRetryPolicy;
  prices: { asOf: string; prices: RegionPrices };
  outage?: Outage;
};

/** Validates what commander cannot check, and returns all faults together. */
async function requestOf(options: PlanOptions, terminal: Terminal): Promise<Validated<PlanRequest>> {
  const { policy = {}, refusal } = givenPolicy(options.policy, 'policy.');
  const { prices: file } = options;
  const given = file === undefined ? undefined : await readInput(file, MAX_PRICES_BYTES, terminal);
  const prices = regionPrices(options.region, given);
  const { outageHours: hours, outageShare: share = 1 / options.fanOut } = options;
  const fields: FieldError[] = [...(refusal?.fields ?? []), ...(prices.ok ? [] : prices.fields)];
  if (options.outageShare !== undefined && hours === undefined)
    fields.push({ field: 'outage-share', message: 'requires --outage-hours' });
  if (fields.length > 0 || !prices.ok) return { ok: false, fields };
  const outage = hours === undefined ? {} : { outage: { hours, share } };
  return { ok: true, value: { policy, prices: prices.value, ...outage } };
}
