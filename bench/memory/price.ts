import { compute } from '../../cli/commands/plan/bill.ts';
import { costOf, pricesSchema } from '../../cli/commands/plan/tables.ts';
import priceList from '../../cli/commands/plan/prices.json' with { type: 'json' };

/** One invocation. */
export type Invocation = { deliveries: number; cpuMs: number; waitingMs: number };

export type Price = {
  /** Milliseconds that the invocation takes. */
  invocationMs: number;
  /** Of compute for a million deliveries, in us-east-1. */
  usdPerMillion: number;
};

const REGION = 'us-east-1';

const MILLION = 1_000_000;

/** By the model of `posthaste plan`: processor time stretched by the share of a processor that the memory buys, and waiting. */
export const priceOf = ({ deliveries, cpuMs, waitingMs }: Invocation, memoryMegabytes: number): Price => {
  const { seconds, gigabyteSeconds } = compute(cpuMs, waitingMs, memoryMegabytes);
  const { [REGION]: prices } = pricesSchema.parse(priceList).regions;
  if (prices === undefined) throw new Error(`There are no prices for ${REGION}.`);
  return {
    invocationMs: seconds * 1000,
    usdPerMillion: costOf(prices, 'lambdaCompute', (gigabyteSeconds / deliveries) * MILLION),
  };
};
