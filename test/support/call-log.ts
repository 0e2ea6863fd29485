import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** `at`: milliseconds since the epoch. */
const at = z.number();

const use = z.object({
  kind: z.literal('use'),
  at,
  /** The assumed role's session: `arn:…:assumed-role/<role>/<function>`. */
  caller: z.string(),
  action: z.string(),
  resource: z.string(),
  allowed: z.boolean(),
});

const call = z.object({
  kind: z.literal('call'),
  at,
  caller: z.string(),
  service: z.string(),
  operation: z.string(),
  status: z.number(),
  /** A retry by the SDK. */
  repeat: z.boolean(),
  requestBytes: z.number(),
  responseBytes: z.number(),
  /** SQS only: messages sent, and the bytes of their bodies and attributes. */
  messages: z.number().optional(),
  messageBytes: z.number().optional(),
  /** DynamoDB only: units as AWS charges them, also for a write that its condition refused. */
  table: z.string().optional(),
  item: z.string().optional(),
  itemBytes: z.number().optional(),
  writeUnits: z.number().optional(),
  indexWriteUnits: z.record(z.string(), z.number()).optional(),
  readUnits: z.number().optional(),
  refused: z.boolean().optional(),
});

const invocation = z.object({
  kind: z.literal('invocation'),
  at,
  function: z.string(),
  memoryMegabytes: z.number(),
  /** Wall-clock duration in milliseconds. */
  ms: z.number(),
  /** CPU time of its threads; null if the machine does not report it. */
  cpuMs: z.number().nullable(),
  cold: z.boolean(),
  logBytes: z.number(),
  /** ARN of the SQS queue whose records it received. */
  queue: z.string().optional(),
  records: z.number(),
  recordBytes: z.number(),
});

const fired = z.object({ kind: z.literal('fired'), at, target: z.string() });

const entry = z.discriminatedUnion('kind', [use, call, invocation, fired]);

export type CallLogEntry = z.output<typeof entry>;
export type Use = z.output<typeof use>;
export type Call = z.output<typeof call>;
export type Invocation = z.output<typeof invocation>;

/**
 * The entries that the local AWS wrote (ministack_calls.py), in order. An incomplete last line is ignored.
 * @throws ZodError for a line of another form
 */
export function readCallLog(file: string): CallLogEntry[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => entry.parse(JSON.parse(line)));
}
