import * as z from 'zod';

/** Written on every record. */
export const RECORD_VERSION = 1;

/** The versions that can be read: the current one and, once there is one, the version before. 1 is the first. */
const versionSchema = z.object({ v: z.literal(RECORD_VERSION) });

/** An item that neither this version of the code nor the one before wrote. */
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError';
  /** While two versions run side by side, the other one can read it. */
  readonly isTransient = true;

  constructor(item: unknown, cause: z.ZodError) {
    const fields = cause.issues.map(({ path }) => path.join('.')).join(', ');
    super(`The record ${describeItem(item)} cannot be read: ${fields}.`, { cause });
  }
}

/** The key of an item, in either table. */
export type ItemKey = { pk: string; sk: string };

const itemKeySchema = z.object({ pk: z.string(), sk: z.string() });

/**
 * What the key of an item names. `keyOf` returns undefined for the keys of other items; the error then names the
 * attribute `decisive`.
 */
export function keySchema<Key>(keyOf: (item: ItemKey) => Key | undefined, decisive: keyof ItemKey) {
  return itemKeySchema.transform((item, context) => {
    const key = keyOf(item);
    if (key !== undefined) return key;
    context.addIssue({ code: 'custom', path: [decisive], message: 'is of another kind of item' });
    return z.NEVER;
  });
}

function describeItem(item: unknown): string {
  const parsed = itemKeySchema.safeParse(item);
  return parsed.success ? `${parsed.data.pk} ${parsed.data.sk}` : 'without keys';
}

/**
 * Decodes an item. Attributes that the schema does not name are dropped: a newer version may have added them.
 * @throws UnreadableRecordError
 */
export function decode<Schema extends z.ZodType>(schema: Schema, item: unknown): z.output<Schema> {
  const parsed = schema.safeParse(item);
  if (!parsed.success) throw new UnreadableRecordError(item, parsed.error);
  return parsed.data;
}

/**
 * As `decode`, for a complete record, whose version it checks.
 * @throws UnreadableRecordError
 */
export function decodeRecord<Schema extends z.ZodType>(schema: Schema, item: unknown): z.output<Schema> {
  decode(versionSchema, item);
  return decode(schema, item);
}

/** DynamoDB TTL in seconds, rounded up so that it is never before `expiresAt`. */
export function toTtl(expiresAt: number): number {
  return Math.ceil(expiresAt / 1000);
}

/** `Item` with other names for some of its keys. */
export type Renamed<Item, Names> = {
  [Key in keyof Item as Key extends keyof Names ? Names[Key] & string : Key]: Item[Key];
};

/** Between fields and attributes that keep the name which an earlier version gave them. `names`: old to new. */
export function renamed<Item extends object, const Names extends Partial<Record<keyof Item, string>>>(
  item: Item,
  names: Names,
): Renamed<Item, Names>;
export function renamed(item: object, names: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [names[name] ?? name, value]));
}

/**
 * Stores repeated structures, such as attempts, under short names, because DynamoDB charges by the kilobyte of
 * the whole item. Drops undefined values and names that are not in the table.
 */
export function withShortNames(
  names: Readonly<Record<string, string>>,
  value: object,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const short = names[name];
      return short === undefined || field === undefined ? [] : [[short, field]];
    }),
  );
}

/** Reads what `withShortNames` stored. Names that are not in the table are dropped. */
export function withLongNames(names: Readonly<Record<string, string>>) {
  return z
    .record(z.string(), z.unknown())
    .transform((item) =>
      Object.fromEntries(
        Object.entries(names).flatMap(([name, short]) => (short in item ? [[name, item[short]]] : [])),
      ),
    );
}
