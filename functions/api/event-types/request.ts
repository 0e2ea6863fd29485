import * as z from 'zod';
import {
  type EventType,
  MAX_DESCRIPTION,
  MAX_EXAMPLE_BYTES,
  MAX_EXAMPLE_DEPTH,
  MAX_GROUP,
  MAX_QUEUES,
} from '../../../shared/domain/event-type/event-type.ts';
import { isQueueName, QUEUE_NAME_RULE } from '../../../shared/domain/message/message.ts';
import { isDeeperThan } from '../../../shared/domain/subscription/content-filter.ts';
import type { CheckSchema, ValidateEvent } from '../../../shared/ports/event-types.ts';
import { invalidFields } from '../errors.ts';
import { printable, withoutProto } from '../fields.ts';
import { parseWith } from '../request-json.ts';

/** Parses `{"description"?, "schema"?, "example"?, "group"?, "deprecated"?, "queues"?}`. @throws RefusedRequest */
export function eventTypeFields(value: unknown): EventTypeFields {
  return parseWith(eventTypeRequestSchema, value);
}

type EventTypeFields = Omit<EventType, 'name' | 'createdAt' | 'changedAt'>;

/** Refuses control characters other than the ends of lines, and halves of characters, which a table cannot store. */
const description = z
  .string()
  .max(MAX_DESCRIPTION, `must be text of at most ${MAX_DESCRIPTION} characters`)
  .regex(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*$/, 'must have no control characters but line feeds')
  .refine((text) => text.isWellFormed(), 'must not contain half of a surrogate pair');

const QUEUES_RULE = `must be a list of at most ${MAX_QUEUES} queues`;

export const eventTypeRequestSchema = z.strictObject({
  description: description.describe('For people, in Markdown.').exactOptional(),
  schema: withoutProto(z.record(z.string(), z.unknown()))
    .meta({
      description: 'JSON Schema 2020-12 of the data of its messages. References stay inside it.',
      override: { type: 'object', additionalProperties: {} },
    })
    .exactOptional(),
  example: z
    .unknown()
    .superRefine(checkExample)
    .describe('Data of a message. It must fit the schema.')
    .exactOptional(),
  group: printable(MAX_GROUP).exactOptional(),
  deprecated: z.boolean().exactOptional(),
  queues: z
    .array(z.string().refine(isQueueName, `must be ${QUEUE_NAME_RULE}`), QUEUES_RULE)
    .max(MAX_QUEUES, QUEUES_RULE)
    .overwrite((queues) => [...new Set(queues)])
    .describe('The queues that see the type. By default all.')
    .exactOptional(),
}) satisfies z.ZodType<EventTypeFields>;

/** Checks the depth before JSON.stringify, which recurses. zod refines an absent member of unknown type, too. */
function checkExample(example: unknown, refinement: z.RefinementCtx): void {
  if (example === undefined) return;
  if (isDeeperThan(example, MAX_EXAMPLE_DEPTH))
    refinement.addIssue(`is nested deeper than ${MAX_EXAMPLE_DEPTH} levels`);
  else if (Buffer.byteLength(JSON.stringify(example)) > MAX_EXAMPLE_BYTES)
    refinement.addIssue(`is over ${MAX_EXAMPLE_BYTES} bytes of JSON`);
  else if (!z.json().safeParse(example).success) refinement.addIssue('has a number beyond 1.8e308');
}

/** @throws RefusedRequest if the schema cannot be used, or the example does not fit it as data of a message must */
export async function checkSchemaAndExample(
  { checkSchema, validateEvent }: { checkSchema: CheckSchema; validateEvent: ValidateEvent },
  { schema, example }: Pick<EventType, 'schema' | 'example'>,
): Promise<void> {
  if (schema === undefined) return;
  const faults = await checkSchema(schema);
  if (faults.length > 0) throw invalidFields(faults);
  if (example === undefined) return;
  const fit = await validateEvent(schema, example);
  switch (fit.kind) {
    case 'valid':
      return;
    case 'invalid':
      throw invalidFields([{ field: `example${fit.path}`, message: fit.detail }]);
    case 'undecided':
      throw invalidFields([
        { field: 'schema', message: 'takes more steps to check the example than a message gets' },
      ]);
  }
}
