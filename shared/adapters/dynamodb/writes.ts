import type { Table } from './table.ts';
import type { Clock } from '../../ports/clock.ts';
import { hasTimeAfter, type Pacing } from '../lambda/invocation-deadline.ts';
import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocument, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { isDeepStrictEqual } from 'node:util';

/**
 * The names and values of a request's expressions. Every name is a reference, since `status` and `owner` are
 * reserved.
 */
export type Expression = {
  /** The reference for a path: `name('lease', 'owner')` is `#lease.#owner`. */
  name(...path: readonly string[]): string;
  value(value: unknown): string;
  attributes(): {
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues: Record<string, unknown>;
  };
};

/**
 * Letters, digits and `_` ("Expression attribute names", DynamoDB developer guide); subscription ids contain
 * other characters.
 */
const REFERENCE = /^[A-Za-z0-9][A-Za-z0-9_]*$/;

/** Collects the names and values of one request. Equal names share a reference. */
export function expression(): Expression {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const referenceTo = (part: string): string => {
    const known = Object.keys(names).find((name) => names[name] === part);
    const reference = known ?? `#${REFERENCE.test(part) ? part : `_${Object.keys(names).length}`}`;
    names[reference] = part;
    return reference;
  };
  return {
    name: (...path) => path.map(referenceTo).join('.'),
    value: (value) => {
      const reference = `:v${Object.keys(values).length}`;
      values[reference] = value;
      return reference;
    },
    attributes: () => ({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
  };
}

/** An attribute of an item: its value in the table, and its new value. Undefined: absent. */
export type ItemEdit = { name: string; from: unknown; to: unknown };

/** The edits between two stored forms. The old values are from `item`, the item as it is in the table. */
export function editsOf(
  item: Record<string, unknown>,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): ItemEdit[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ name, from: item[name], to: after[name] }));
}

/** An update with these edits, on condition that each attribute has its old value and the guards hold. */
export function updateOf(edits: readonly ItemEdit[], guards: Record<string, unknown>) {
  const expr = expression();
  const expected = { ...guards, ...Object.fromEntries(edits.map(({ name, from }) => [name, from])) };
  const sets = edits.filter((edit) => edit.to !== undefined);
  const removals = edits.filter((edit) => edit.to === undefined);
  const clauses = [
    ['SET', sets.map((edit) => `${expr.name(edit.name)} = ${expr.value(edit.to)}`)],
    ['REMOVE', removals.map(({ name }) => expr.name(name))],
  ] as const;
  return {
    UpdateExpression: clauses
      .filter(([, parts]) => parts.length > 0)
      .map(([verb, parts]) => `${verb} ${parts.join(', ')}`)
      .join(' '),
    ConditionExpression: Object.entries(expected)
      .map(([name, value]) =>
        value === undefined
          ? `attribute_not_exists(${expr.name(name)})`
          : `${expr.name(name)} = ${expr.value(value)}`,
      )
      .join(' AND '),
    ...expr.attributes(),
  };
}

/**
 * The result of a conditional write. `item` is the item that refused it, if it exists and the write asks for it.
 */
type Conditional<Output> =
  | { kind: 'written'; output: Output }
  | { kind: 'refused'; item: Record<string, unknown> | undefined; error: Error };

/** Turns a failed condition into a result; every other error passes through. */
export async function conditional<Output>(write: Promise<Output>): Promise<Conditional<Output>> {
  try {
    return { kind: 'written', output: await write };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const { Item } = error;
    return { kind: 'refused', item: Item === undefined ? undefined : unmarshall(Item), error };
  }
}

/**
 * The response of a conditional write, or undefined if its condition failed. Every other error passes through.
 */
export async function ifConditionHolds<Output>(write: Promise<Output>): Promise<Output | undefined> {
  const result = await conditional(write);
  return result.kind === 'written' ? result.output : undefined;
}

/** As `ifConditionHolds`; a conflict with a transaction on the item also counts as a failed condition. */
export async function ifNoConflict<Output>(write: Promise<Output>): Promise<Output | undefined> {
  try {
    return await ifConditionHolds(write);
  } catch (error) {
    if (error instanceof TransactionConflictException) return undefined;
    throw error;
  }
}

/**
 * For each write of the transaction in order: whether its condition failed, and the item it failed on, if
 * requested.
 */
export type RefusedWrite = { failed: boolean; item: unknown };

type TransactionResult =
  { kind: 'written' } | { kind: 'refused'; writes: readonly RefusedWrite[]; error: Error };

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 25;

/** Transient reasons of a cancelled transaction: a conflict or throttling. The SDK retries neither. */
const TRANSIENT: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

/**
 * Writes all or nothing. Retries transient cancellations after a pause, at most eight tries in all and while
 * there is time. Errors pass through, except failed conditions, which are results.
 */
export async function transactWrite(
  { client, clock }: { client: Pick<DynamoDBDocument, 'transactWrite'>; clock: Pacing },
  writes: NonNullable<TransactWriteCommandInput['TransactItems']>,
): Promise<TransactionResult> {
  for (let tried = 1; ; tried += 1) {
    try {
      await client.transactWrite({ TransactItems: writes });
      return { kind: 'written' };
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      const { writes, isTransient } = cancellationOf(error);
      if (writes.some(({ failed }) => failed)) return { kind: 'refused', writes, error };
      const pauseMs = Math.random() * FIRST_PAUSE_MS * 2 ** tried;
      if (!isTransient || tried === MAX_TRIES || !hasTimeAfter(pauseMs, clock.deadline)) throw error;
      await clock.sleep(pauseMs);
    }
  }
}

function cancellationOf({ CancellationReasons: reasons = [] }: TransactionCanceledException): {
  writes: RefusedWrite[];
  isTransient: boolean;
} {
  return {
    writes: reasons.map(({ Code, Item }) => ({
      failed: Code === 'ConditionalCheckFailed',
      item: Item === undefined ? undefined : unmarshall(Item),
    })),
    isTransient: reasons.some(({ Code = '' }) => TRANSIENT.has(Code)),
  };
}

/**
 * What a write to the subscriptions table needs; the clock paces retries after a conflict with another
 * transaction.
 */
export type RegistryTable = Table & { clock: Clock & Pacing };

const CONTENTION_PAUSE_MS = 5;

/** Number of tries, and the jittered pause between them, for changes that lose against concurrent ones. */
export function retryOptions({ clock }: RegistryTable) {
  return {
    tries: 8,
    pause: (tried: number) => clock.sleep(Math.random() * CONTENTION_PAUSE_MS * 2 ** tried),
  };
}
