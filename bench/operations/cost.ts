import type { OperationTable } from '../../cli/commands/plan/model/operation-table.ts';
import { peersOf, type PeerCost } from '../../cli/commands/plan/model/peers.ts';
import type { Plan } from '../../cli/commands/plan/model/plan.ts';
import { pricesSchema, type RegionPrices } from '../../cli/commands/plan/model/prices.ts';
import { peerNames } from '../../cli/commands/plan/names.ts';
import listPrices from '../../cli/commands/plan/prices.json' with { type: 'json' };
import { tableLines, type Column } from '../../cli/output/table.ts';
import { DEFAULT_RETRY_POLICY } from '../../shared/domain/retry/policy.ts';
import { partsOf, type Part } from './parts.ts';

/** Dollars for a million deliveries, without what is there without any. */
export type Cost = {
  fanOut: number;
  messagesPerBatch: number;
  parts: readonly Part[];
  together: number;
  /** With `firstAttemptsPerJob` 1. */
  eachByItself: number;
  peers: readonly Pick<PeerCost, 'peer' | 'perMillionDeliveries'>[];
};

/** Small messages of which every delivery succeeds at once, to subscribers that take 100 ms: what `posthaste plan` assumes. */
const PLAN: Plan = {
  messagesPerDay: 1_000_000,
  fanOut: 1,
  failureRate: 0,
  failingSeconds: 0,
  policy: DEFAULT_RETRY_POLICY,
  thresholdSeconds: 90,
  payloadBytes: 1024,
  firstAttemptsPerJob: 10,
  recordsPerChunk: 1,
  messagesPerBatch: 1,
  attemptMs: 100,
  failedAttemptMs: 100,
  answerBytes: 0,
  peakFactor: 4,
  retentionDays: 30,
};

const CASES = [
  { fanOut: 1, messagesPerBatch: 1 },
  { fanOut: 1, messagesPerBatch: 10 },
  { fanOut: 10, messagesPerBatch: 1 },
  { fanOut: 10, messagesPerBatch: 10 },
  { fanOut: 100, messagesPerBatch: 10 },
];

const REGION = 'us-east-1';

const pricesHere = (): RegionPrices => {
  const { [REGION]: prices } = pricesSchema.parse(listPrices).regions;
  if (prices === undefined) throw new Error(`There are no prices for ${REGION}.`);
  return prices;
};

/** By the table as it is; nothing is run. */
export const costsOf = (table: OperationTable): Cost[] => {
  const prices = pricesHere();
  return CASES.map((given) => {
    const plan = { ...PLAN, ...given };
    const parts = partsOf(plan, table, prices);
    return {
      ...given,
      parts,
      together: sum(parts),
      eachByItself: sum(partsOf({ ...plan, firstAttemptsPerJob: 1 }, table, prices)),
      peers: peersOf(plan, prices).map(({ peer, perMillionDeliveries }) => ({ peer, perMillionDeliveries })),
    };
  });
};

const sum = (parts: readonly Part[]): number => parts.reduce((total, { usd }) => total + usd, 0);

export const costText = (costs: readonly Cost[]): string => {
  const heads = costs.map(({ fanOut, messagesPerBatch }): Column => ({
    head: `fan-out ${fanOut}, ${messagesPerBatch} a batch`,
    align: 'right',
  }));
  const row = (name: string, usd: (cost: Cost) => number | undefined): string[] => [
    name,
    ...costs.map((cost) => (usd(cost) ?? 0).toFixed(3)),
  ];
  const [first] = costs;
  return tableLines(
    [{ head: 'USD for a million deliveries' }, ...heads],
    [
      ...(first?.parts ?? []).map(({ part }, index) => row(part, ({ parts }) => parts[index]?.usd)),
      row('Together', ({ together }) => together),
      row('The same, each subscription by itself', ({ eachByItself }) => eachByItself),
      ...(first?.peers ?? []).map(({ peer }, index) =>
        row(peerNames[peer], ({ peers }) => peers[index]?.perMillionDeliveries),
      ),
    ],
  ).join('\n');
};
