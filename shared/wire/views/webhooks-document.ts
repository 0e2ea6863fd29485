import type { EventType } from '../../domain/event-type/event-type.ts';
import { isJsonObject } from '../../domain/json.ts';

/** What the document has of a type. */
type DocumentedType = Pick<EventType, 'name' | 'description' | 'schema' | 'example' | 'group' | 'deprecated'>;

/**
 * The OpenAPI 3.1 document of these types: a webhook for each, with the standard body and the headers of Standard Webhooks.
 * It names no queues, so that subscribers can have it.
 */
export function toWebhooksDocument(types: readonly DocumentedType[]) {
  return {
    openapi: '3.1.1',
    info: { title: 'Webhooks', version: '1' },
    webhooks: Object.fromEntries(types.map((type) => [type.name, { post: toOperation(type) }])),
    components: {
      schemas: Object.fromEntries(
        types.flatMap(({ name, schema }) =>
          schema === undefined ? [] : [[name, toComponent(name, schema)]],
        ),
      ),
      parameters: PARAMETERS,
    },
  };
}

function toOperation({ name, description, schema, example, group, deprecated }: DocumentedType) {
  const data = schema === undefined ? {} : { $ref: componentRef(name) };
  return {
    operationId: name,
    ...(group !== undefined && { tags: [group] }),
    ...(description !== undefined && { description }),
    ...(deprecated === true && { deprecated }),
    parameters: Object.keys(PARAMETERS).map((header) => ({ $ref: `#/components/parameters/${header}` })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: { ...HEAD, type: { const: name }, data },
            required: ['id', 'queue', 'type', 'timestamp', 'data'],
          },
          ...(example !== undefined && { example: { ...EXAMPLE_HEAD, type: name, data: example } }),
        },
      },
    },
    responses: { '2XX': { description: 'The message is received.' } },
  };
}

const HEAD = {
  id: { type: 'string' },
  queue: { type: 'string' },
  timestamp: { type: 'string', format: 'date-time' },
};

const EXAMPLE_HEAD = { id: 'message-1', queue: 'my-queue', timestamp: '2026-01-01T00:00:00.000Z' };

const PARAMETERS = {
  'webhook-id': toHeader('webhook-id', 'The id of the message, the same in each attempt.'),
  'webhook-timestamp': toHeader('webhook-timestamp', 'When the attempt began, in seconds since the epoch.'),
  'webhook-signature': toHeader('webhook-signature', 'Signatures of id, timestamp and body.'),
};

function toHeader(name: string, description: string) {
  return { name, in: 'header', description, required: true, schema: { type: 'string' } };
}

function componentRef(name: string): string {
  return `#/components/schemas/${name}`;
}

/** The schema at its place in the document, to which its references point. Only a root may have `$schema`. */
function toComponent(name: string, schema: Record<string, unknown>): unknown {
  const { $schema: _, ...rest } = schema;
  return moveReferences(rest, componentRef(name));
}

/** Keywords whose members are schemas by any name. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/** Keywords whose values are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'example']);

/** `#` is the root of a stored schema, and `root` its place in the document. */
function moveReferences(schema: unknown, root: string): unknown {
  if (Array.isArray(schema)) return schema.map((part) => moveReferences(part, root));
  return mapMembers(schema, (value, keyword) => {
    if (keyword === '$ref' && typeof value === 'string') return value.replace(/^#/, root);
    if (DATA.has(keyword)) return value;
    return MAPS.has(keyword)
      ? mapMembers(value, (part) => moveReferences(part, root))
      : moveReferences(value, root);
  });
}

/** Values other than objects stay as they are. */
function mapMembers(value: unknown, change: (member: unknown, name: string) => unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}
