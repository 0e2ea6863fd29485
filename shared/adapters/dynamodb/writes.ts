import { primaryKey } from '../../config/tables.ts';
import type { ItemKey } from './record.ts';
import type { OfTable, Table } from './table.ts';
import { contended, withRetriedWrites } from '../../domain/contention.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RegistryChange } from '../../ports/subscriptions.ts';
import { hasTimeAfter, type Pacing } from '../lambda/invocation-deadline.ts';
import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocument, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

export type Expression = ReturnType<typeof expression>;

/**
 * Letters, digits and `_` ("Expression attribute names", DynamoDB developer guide); subscription ids contain
 * other characters.
 */
const REFERENCE = /^[A-Za-z0-9][A-Za-z0-9_]*$/;

/**
 * Collects the names and values of a request's expressions. Every name is a reference, since `status` and `owner` are
 * reserved. Equal names share one.
 */
export function expression() {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  let count = 0;
  const referenceTo = (part: string): string => {
    const reference = REFERENCE.test(part)
      ? `#${part}`
      : (Object.keys(names).find((name) => names[name] === part) ?? `#_${Object.keys(names).length}`);
    names[reference] = part;
    return reference;
  };
  const addName = (path: readonly string[]): string => path.map(referenceTo).join('.');
  const addValue = (value: unknown): string => {
    const reference = `:v${count}`;
    count += 1;
    values[reference] = value;
    return reference;
  };
  return {
    /** The reference for a path: `name('lease', 'owner')` is `#lease.#owner`. */
    name: (...path: readonly string[]): string => addName(path),
    value: addValue,
    /** `#path = :value`: a condition, or an assignment. Undefined: the condition that the attribute is absent. */
    equal: (path: string | readonly string[], value: unknown): string => {
      const name = typeof path === 'string' ? referenceTo(path) : addName(path);
      return value === undefined ? `attribute_not_exists(${name})` : `${name} = ${addValue(value)}`;
    },
    /** Sets attributes, after them `more`, and removes those that are undefined. */
    update: (values: Record<string, unknown>, ...more: readonly string[]): string => {
      const [sets, removals]: [string[], string[]] = [[], []];
      for (const [name, value] of Object.entries(values)) {
        if (value === undefined) removals.push(referenceTo(name));
        else sets.push(`${referenceTo(name)} = ${addValue(value)}`);
      }
      const clauses = [
        ['SET', [...sets, ...more]],
        ['REMOVE', removals],
      ] as const;
      return clauses
        .flatMap(([verb, parts]) => (parts.length > 0 ? [`${verb} ${parts.join(', ')}`] : []))
        .join(' ');
    },
    /** Adds to numbers or sets, which may be absent. */
    add: (more: Record<string, unknown>): string => {
      const parts = Object.entries(more).map(([name, value]) => `${referenceTo(name)} ${addValue(value)}`);
      return `ADD ${parts.join(', ')}`;
    },
    /** An assignment that appends to a list, which may be absent. */
    append: (name: string, values: readonly unknown[]): string => {
      const list = referenceTo(name);
      return `${list} = list_append(if_not_exists(${list}, ${addValue([])}), ${addValue(values)})`;
    },
    /** An assignment that keeps an earlier value. */
    setOnce: (name: string, value: unknown): string =>
      `${referenceTo(name)} = if_not_exists(${referenceTo(name)}, ${addValue(value)})`,
    attributes: () => ({ ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
  };
}

/** An attribute of an item: its value in the table, and its new value. Undefined: absent. */
export type ItemEdit = { name: string; from: unknown; to: unknown };

/** The edits between two stored forms. The old values are from `item`, the item as it is in the table. */
export function findEdits(
  item: Record<string, unknown>,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): ItemEdit[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => ({ name, from: item[name], to: after[name] }));
}

/** An update with these edits and this token, on condition that each attribute has its old value and the guards hold. */
export function buildUpdate(edits: readonly ItemEdit[], guards: Record<string, unknown>, token?: string) {
  const expr = expression();
  const expected = { ...guards, ...Object.fromEntries(edits.map(({ name, from }) => [name, from])) };
  const values = Object.fromEntries(edits.map(({ name, to }) => [name, to]));
  return {
    UpdateExpression: expr.update({ ...values, [TOKEN]: token }),
    ConditionExpression: Object.entries(expected)
      .map(([name, value]) => expr.equal(name, value))
      .join(' AND '),
    ...expr.attributes(),
  };
}

/** Conditions on the item of a write. */
export const EXISTS = `attribute_exists(${primaryKey.partition})`;
export const ABSENT = `attribute_not_exists(${primaryKey.partition})`;

/** A put that an item with this key refuses, and then returns. */
export function putIfAbsent(Item: Record<string, unknown>) {
  return {
    Item,
    ConditionExpression: ABSENT,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const;
}

/**
 * Attribute with the token of the write that produced an item. The SDK repeats a request whose response was lost,
 * and the copy is refused because of the first write. The token shows that; otherwise the writer would believe that
 * another invocation wrote the item.
 */
export const TOKEN = 'w';

/** Unique write tokens: a random prefix per process plus a counter, because randomBytes per write is slow. */
export function writeTokens(): () => string {
  const prefix = randomBytes(6).toString('base64url');
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}${count.toString(36)}`;
  };
}

/** An update that returns the item either way: as it is afterwards, or as it refused the update. */
export function updateReturningItem(Key: ItemKey, update: string, condition: string, expr: Expression) {
  return {
    Key,
    UpdateExpression: update,
    ConditionExpression: condition,
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ...expr.attributes(),
  } as const;
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
    return { kind: 'refused', item: error.Item && unmarshall(error.Item), error };
  }
}

/**
 * The response of a conditional write, or undefined if its condition failed. Every other error passes through.
 */
export async function ifConditionHolds<Output>(write: Promise<Output>): Promise<Output | undefined> {
  const result = await conditional(write);
  return result.kind === 'written' ? result.output : undefined;
}

/**
 * For each write of the transaction in order: whether its condition failed, and the item it failed on, if
 * requested.
 */
export type RefusedWrite = { failed: boolean; item: unknown };

type TransactionResult =
  | { kind: 'written' }
  | { kind: 'refused'; writes: readonly RefusedWrite[]; error: Error };

/** The clock paces retries. */
type TransactedTable = { name: string; client: Pick<DynamoDBDocument, 'transactWrite'>; clock: Pacing };

const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 25;

/** Transient reasons of a cancelled transaction: a conflict or throttling. The SDK retries neither. */
const TRANSIENT: ReadonlySet<string> = new Set([
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
]);

type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** A write of a transaction, without the name of its table. */
export type TableWrite = { [Kind in keyof TransactItem]: OfTable<NonNullable<TransactItem[Kind]>> };

/**
 * Writes to one table, all or nothing. Retries transient cancellations after a pause, at most eight tries in all and
 * while there is time. Errors pass through, except failed conditions, which are results.
 */
export async function transactWrite(
  { name: TableName, client, clock }: TransactedTable,
  writes: readonly TableWrite[],
): Promise<TransactionResult> {
  const TransactItems = writes.map((write): TransactItem =>
    Object.fromEntries(Object.entries(write).map(([kind, input]) => [kind, { TableName, ...input }])),
  );
  for (let tried = 1; ; tried += 1) {
    try {
      await client.transactWrite({ TransactItems });
      return { kind: 'written' };
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      const { writes, isTransient } = toCancellation(error);
      if (writes.some(({ failed }) => failed)) return { kind: 'refused', writes, error };
      const pauseMs = Math.random() * FIRST_PAUSE_MS * 2 ** tried;
      if (!isTransient || tried === MAX_TRIES || !hasTimeAfter(pauseMs, clock.deadline)) throw error;
      await clock.sleep(pauseMs);
    }
  }
}

function toCancellation({ CancellationReasons: reasons = [] }: TransactionCanceledException) {
  return {
    writes: reasons.map(({ Code, Item }) => ({
      failed: Code === 'ConditionalCheckFailed',
      item: Item && unmarshall(Item),
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

/**
 * Repeats a change that loses against concurrent ones, also where a transaction holds the item, after jittered pauses.
 * `record`: as errors name it.
 * @throws ContendedError
 */
export function retryChange<Result>(
  { clock }: RegistryTable,
  record: string,
  attempt: () => Promise<Result | 'again'>,
): Promise<Result> {
  const pause = (tried: number) => clock.sleep(Math.random() * CONTENTION_PAUSE_MS * 2 ** tried);
  const step = () =>
    attempt().catch((error: unknown) => {
      if (error instanceof TransactionConflictException) return 'again' as const;
      throw error;
    });
  return withRetriedWrites(step, contended(record), { tries: 8, pause });
}

/** A record as a table item and as a domain value. */
export type Stored<Of> = { item: Record<string, unknown>; current: Of };

/** A change to write. `token`: for `buildUpdate`. */
export type PlannedChange<Of> = { found: Stored<Of>; after: Of; edits: readonly ItemEdit[]; token: string };

type Changing<Of, Refusal> = {
  find: () => Promise<Stored<Of> | undefined>;
  change: (current: Of) => Of;
  toItem: (of: Of) => Record<string, unknown>;
  /** `again`: a concurrent write interfered. */
  write: (planned: PlannedChange<Of>) => Promise<'written' | 'again' | Refusal>;
};

const newToken = writeTokens();

/** Changes a record as read, and writes what differs. @throws ContendedError, and errors of `change` */
export function changeStored<Of, Refusal = never>(
  table: RegistryTable,
  record: string,
  { find, change, toItem, write }: Changing<Of, Refusal>,
): Promise<RegistryChange<Of> | Refusal> {
  const token = newToken();
  let planned: RegistryChange<Of> | undefined;
  return retryChange(table, record, async () => {
    const found = await find();
    if (found === undefined) return { kind: 'missing' };
    const { item, current: before } = found;
    // What interfered was the first copy of this write.
    if (planned !== undefined && item[TOKEN] === token) return planned;
    const after = change(before);
    const edits = findEdits(item, toItem(before), toItem(after));
    if (edits.length === 0) return { kind: 'left', current: before };
    planned = { kind: 'changed', before, after };
    const result = await write({ found, after, edits, token });
    return result === 'written' ? planned : result;
  });
}
