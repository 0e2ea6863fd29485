import { deliveryOf } from '../../shared/adapters/dynamodb/delivery-item.ts';
import { deliveryPrefix } from '../../shared/adapters/dynamodb/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { AttemptTrigger } from '../../shared/domain/vocabulary.ts';
import { quantile } from '../harness/figures.ts';
import type { Cell } from './load.ts';
import { type DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';

/** Milliseconds. */
export type Quantiles = { p50: number; p95: number; p99: number; most: number };

/** A retry as it was recorded, and as the subscriber saw it. Times in ms since the epoch. */
export type Retry = {
  cell: Cell;
  by: AttemptTrigger | undefined;
  dueAt: number;
  startedAt: number;
  arrivedAt: number;
};

/** A retry of the bare function's. */
export type BareRetried = Pick<Retry, 'cell' | 'dueAt' | 'arrivedAt'>;

export type CellFigures = Cell & {
  retries: number;
  /** Of those that were due, how many were not recorded as delivered by a second attempt. */
  undelivered: number;
  /** How many began, or came to the subscriber, before they were due. */
  early: number;
  /** By what they came about, as recorded. */
  broughtBy: Partial<Record<AttemptTrigger | 'unknown', number>>;
  /** From due to begun, by the record. */
  late: Quantiles;
  /** From due to the subscriber's receipt. */
  received: Quantiles;
  bare: { retries: number; received: Quantiles };
};

export const quantilesOf = (values: readonly number[]): Quantiles => ({
  p50: quantile(values, 0.5),
  p95: quantile(values, 0.95),
  p99: quantile(values, 0.99),
  most: quantile(values, 1),
});

const isEarly = ({ dueAt, startedAt, arrivedAt }: Omit<Retry, 'cell' | 'by'>): boolean =>
  startedAt < dueAt || arrivedAt < dueAt;

const receivedLate = ({ arrivedAt, dueAt }: BareRetried): number => arrivedAt - dueAt;

const isOf =
  ({ by, delaySeconds }: Cell) =>
  ({ cell }: Pick<Retry, 'cell'>): boolean =>
    cell.by === by && cell.delaySeconds === delaySeconds;

/** `expected`: retries that were due in the cell. */
export const figuresOf = (
  cell: Cell,
  expected: number,
  all: { retries: readonly Retry[]; bare: readonly BareRetried[] },
): CellFigures => {
  const retries = all.retries.filter(isOf(cell));
  const bare = all.bare.filter(isOf(cell));
  return {
    ...cell,
    retries: retries.length,
    undelivered: expected - retries.length,
    early: retries.filter(isEarly).length,
    broughtBy: countsOf(retries.map(({ by = 'unknown' }) => by)),
    late: quantilesOf(retries.map(({ startedAt, dueAt }) => startedAt - dueAt)),
    received: quantilesOf(retries.map(receivedLate)),
    bare: { retries: bare.length, received: quantilesOf(bare.map(receivedLate)) },
  };
};

const countsOf = <Word extends string>(words: readonly Word[]): Partial<Record<Word, number>> => {
  const counts: Partial<Record<Word, number>> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
};

/** Of retries as subscribers receive them, over all delays of a mechanism: ours by the bare function's. */
export const p95ByBare = (retries: readonly BareRetried[], bare: readonly BareRetried[]): number =>
  quantile(retries.map(receivedLate), 0.95) / quantile(bare.map(receivedLate), 0.95);

/** Items. The local AWS does nothing else while it puts a page together. */
const PAGE = 200;

/** Of deliveries that ended with their first retry: that, by the message's id. All others are left out. */
export const deliveredRetries = async (
  client: DynamoDBDocumentClient,
  table: string,
): Promise<ReadonlyMap<string, Attempt>> => {
  const found = new Map<string, Attempt>();
  const scan = {
    TableName: table,
    Limit: PAGE,
    FilterExpression: 'begins_with(#sort, :delivery)',
    ExpressionAttributeNames: { '#sort': primaryKey.sort },
    ExpressionAttributeValues: { ':delivery': deliveryPrefix },
  };
  for await (const { Items = [] } of paginateScan({ client }, scan)) {
    for (const delivery of Items.map(deliveryOf)) {
      const retry = retryOf(delivery);
      if (retry !== undefined) found.set(delivery.key.messageId, retry);
    }
  }
  return found;
};

/** Undefined: it took other than one failure and one success. */
export const retryOf = ({ status, attempts }: Delivery): Attempt | undefined => {
  const [, retry, ...rest] = attempts;
  return status === 'delivered' && rest.length === 0 ? retry : undefined;
};
