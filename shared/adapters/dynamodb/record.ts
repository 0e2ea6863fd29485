import * as z from 'zod';

/** Written on every record. */
export const RECORD_VERSION = 1;

/** What a reader understands: the version it writes and, once there is one, the version before. 1 is the first. */
const readable = z.object({ v: z.literal(RECORD_VERSION) });

/** An item of our tables that is not what this version of the code, or the one before, wrote. */
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError';

  constructor(item: unknown, cause: z.ZodError) {
    const fields = cause.issues.map(({ path }) => path.join('.')).join(', ');
    super(`The record ${nameOf(item)} cannot be read: ${fields}.`, { cause });
  }
}

const named = z.object({ pk: z.string(), sk: z.string() });

function nameOf(item: unknown): string {
  const parsed = named.safeParse(item);
  return parsed.success ? `${parsed.data.pk} ${parsed.data.sk}` : 'without keys';
}

/** Attributes that the schema does not name are left out: a newer version may have added them. @throws UnreadableRecordError */
export function decoded<Schema extends z.ZodType>(schema: Schema, item: unknown): z.output<Schema> {
  const parsed = schema.safeParse(item);
  if (!parsed.success) throw new UnreadableRecordError(item, parsed.error);
  return parsed.data;
}

/** As `decoded`, for a whole record, which carries its version. @throws UnreadableRecordError */
export function decodedRecord<Schema extends z.ZodType>(schema: Schema, item: unknown): z.output<Schema> {
  decoded(readable, item);
  return decoded(schema, item);
}

/** Seconds for DynamoDB's TTL, never before the time itself. */
export function ttlOf(expiresAt: number): number {
  return Math.ceil(expiresAt / 1000);
}

/**
 * What an item repeats, such as its attempts, is kept under short names: DynamoDB charges by the kilobyte of the whole item.
 * Left out: what is undefined, and what the table of names does not have.
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

/** The way back. Names that the table does not have are left out. */
export function withLongNames(
  names: Readonly<Record<string, string>>,
  item: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, short]) => (short in item ? [[name, item[short]]] : [])),
  );
}
