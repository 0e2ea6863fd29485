import type { Command } from 'commander';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { reportInvalid } from '../../failure-report.ts';
import { examplesText } from '../../options/deployment-options.ts';
import { readInput, givenPolicy } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';
import { addPlanOptions, buildPlan, type PlanOptions } from './load.ts';
import { computePlan, type Outage } from './planned.ts';
import { regionPrices } from './prices.ts';
import { planText } from './text.ts';

const HELP = `
Works without a deployment. The operations per delivery were counted with npm
run bench:operations, and prices are AWS list prices; docs/cost-and-performance.md describes
the method and the assumptions.`;

const EXAMPLES = [
  'plan --messages-per-day 1000000 --fan-out 3 --failure-rate 0.01',
  'plan --messages-per-day 1000000 --pull-share 0.2 --api-requests-per-day 50000 --console-hours 8',
  'plan --messages-per-day 5000000 --policy \'{"maximum_delay": 3600}\' --outage-hours 6 --outage-share 0.5',
];

const MAX_PRICES_BYTES = 1024 * 1024;

/** `posthaste plan`: estimated cost and required quotas of a load. */
export function addPlan(command: Command, terminal: Terminal): void {
  addPlanOptions(command)
    .addHelpText('after', `${HELP}${examplesText(EXAMPLES)}\n\nExit status: 0, or 2 if a value is invalid.`)
    .action((options: PlanOptions) => plan(options, terminal));
}

async function plan(options: PlanOptions, terminal: Terminal): Promise<void> {
  const { region, prices: file, json, policy: text, outageHours, outageShare, ...load } = options;
  const given = file === undefined ? undefined : await readInput(file, MAX_PRICES_BYTES, terminal);
  const prices = regionPrices(region, given);
  const { policy, refusal } = givenPolicy(text, 'policy.');
  // What commander cannot check: all faults together.
  const fields = [refusal?.fields ?? [], prices.ok ? [] : prices.fields, outageFaults(options)].flat();
  if (fields.length > 0 || !prices.ok) {
    reportInvalid('The plan', { code: 'invalid_request', fields }, json === true, terminal);
    return;
  }
  const outage = buildOutage(load.fanOut, outageHours, outageShare);
  const result = computePlan(buildPlan(load, policy), prices.value.prices, outage);
  const sources = { region, pricesAsOf: prices.value.asOf };
  terminal.print(json === true ? JSON.stringify({ ...result, ...sources }) : planText(result, sources));
}

function outageFaults({ outageHours, outageShare }: PlanOptions): FieldError[] {
  return outageShare !== undefined && outageHours === undefined
    ? [{ field: 'outage-share', message: 'requires --outage-hours' }]
    : [];
}

function buildOutage(fanOut: number, hours?: number, share = 1 / fanOut): Outage | undefined {
  return hours === undefined ? undefined : { hours, share };
}
