import * as z from 'zod';

/** What producers may publish, as the catalogue describes it. Times in milliseconds since the epoch. */
export const eventTypeSchema = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  /** JSON Schema 2020-12 of the data of its messages. */
  schema: z.record(z.string(), z.unknown()).exactOptional(),
  /** Data of a message, which fits the schema. */
  example: z.unknown().exactOptional(),
  group: z.string().exactOptional(),
  deprecated: z.boolean().exactOptional(),
  /** The queues that see it. @default all */
  queues: z.array(z.string()).exactOptional(),
  createdAt: z.number(),
  /** When it was stored last. */
  changedAt: z.number(),
});

export type EventType = z.output<typeof eventTypeSchema>;

/** Bounds of a type, in characters and bytes of JSON: it stays far below the 400 KB of a DynamoDB item. */
export const MAX_EVENT_TYPE_NAME = 128;
export const MAX_DESCRIPTION = 1_000;
export const MAX_GROUP = 128;
export const MAX_QUEUES = 100;
export const MAX_EXAMPLE_BYTES = 16_384;
export const MAX_EXAMPLE_DEPTH = 32;

export const EVENT_TYPE_NAME = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;

export const EVENT_TYPE_NAME_RULE = `at most ${MAX_EVENT_TYPE_NAME} of A-Z a-z 0-9 _ -, in parts joined by dots`;

export function isEventTypeName(name: string): boolean {
  return name.length <= MAX_EVENT_TYPE_NAME && EVENT_TYPE_NAME.test(name);
}

/** A queue, or a session of the portal, which sees only these `names` of what the queue sees. Undefined: all is visible. */
export type TypeViewer = { queue: string; names?: readonly string[] } | undefined;

/** Whether the catalogue shows the type to a viewer. Producers of another queue cannot publish it where types are checked. */
export function isVisibleTo(
  { name, queues }: Pick<EventType, 'name' | 'queues'>,
  viewer: TypeViewer,
): boolean {
  if (viewer === undefined) return true;
  return (queues?.includes(viewer.queue) ?? true) && (viewer.names?.includes(name) ?? true);
}
