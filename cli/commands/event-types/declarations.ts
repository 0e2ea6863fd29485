import { resolveReference } from '../../../shared/domain/event-type/reference.ts';
import { isJsonObject } from '../../../shared/domain/json.ts';

/** `schema`: JSON Schema of the data of the messages. */
type Declared = { name: string; description?: string; deprecated?: boolean; schema?: unknown };

/**
 * TypeScript that declares the data of event types, for `new Publisher<EventTypes>(…)`. Rules that a type cannot say,
 * such as a pattern, are left out; a schema that this cannot read is `unknown`.
 */
export function declareEventTypes(types: readonly Declared[]): string {
  const members = types.map((type) => {
    const reading = { root: type.schema, within: [], budget: { left: MAX_SCHEMAS } };
    return member(JSON.stringify(type.name), declareSchema(type.schema, reading), type);
  });
  return `${HEADING}export type EventTypes = ${block(members)};\n`;
}

const HEADING = `// Written by posthaste event-types types: change the catalogue instead.

/** The data of each event type, for \`new Publisher<EventTypes>(…)\` of posthaste/client. */
`;

/** References are written in place, so that a small schema can demand a long text. */
const MAX_SCHEMAS = 2_000;

type Schema = Record<string, unknown>;

/** `within`: the references that lead to the schema. */
type Reading = { root: unknown; within: readonly string[]; budget: { left: number } };

function declareSchema(schema: unknown, reading: Reading): string {
  reading.budget.left -= 1;
  if (schema === false) return 'never';
  if (!isJsonObject(schema) || reading.budget.left < 0) return 'unknown';
  const { $ref, allOf, anyOf, oneOf } = schema;
  const declareAll = (schemas: unknown) => itemsIn(schemas).map((one) => declareSchema(one, reading));
  const parts = [
    declareReference($ref, reading),
    unite(valuesIn(schema) ?? kindsIn(schema).map((kind) => declareKind(kind, schema, reading))),
    ...declareAll(allOf),
    ...[anyOf, oneOf].filter(Array.isArray).map((schemas) => unite(declareAll(schemas))),
  ];
  const known = [...new Set(parts)].filter((part) => part !== 'unknown');
  return known.length > 1 ? known.map((part) => `(${part})`).join(' & ') : (known[0] ?? 'unknown');
}

/** A reference to a part of this schema. Unknown if it leads to itself, which has no name here. */
function declareReference($ref: unknown, { root, within, budget }: Reading): string {
  const isNew = typeof $ref === 'string' && !within.includes($ref);
  const found = isNew ? resolveReference(root, $ref) : undefined;
  if (!isNew || found === undefined) return 'unknown';
  return declareSchema(found.schema, { root, within: [...within, $ref], budget });
}

/** The only values, by `const` or `enum`. */
function valuesIn(schema: Schema): string[] | undefined {
  const values = 'const' in schema ? [schema['const']] : schema['enum'];
  if (!Array.isArray(values)) return undefined;
  return values.map((value) =>
    typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value),
  );
}

function kindsIn({ type, properties, additionalProperties, items }: Schema): unknown[] {
  if (type !== undefined) return [type].flat();
  if (properties !== undefined || additionalProperties !== undefined) return ['object'];
  return items === undefined ? [] : ['array'];
}

const SIMPLE: ReadonlyMap<unknown, string> = new Map(
  ['string', 'number', 'boolean', 'null', 'integer'].map((kind) => [kind, kind.replace('integer', 'number')]),
);

function declareKind(kind: unknown, schema: Schema, reading: Reading): string {
  if (kind === 'object') return declareObject(schema, reading);
  // `items` are those after the first ones.
  if (kind === 'array')
    return 'prefixItems' in schema ? 'unknown[]' : `(${declareSchema(schema['items'], reading)})[]`;
  return SIMPLE.get(kind) ?? 'unknown';
}

/** Undescribed properties are an error of the compiler, to find typing errors, unless the schema mentions them. */
function declareObject(schema: Schema, reading: Reading): string {
  const { properties, required, patternProperties } = schema;
  // No type names properties by a pattern.
  const additionalProperties = patternProperties === undefined ? schema['additionalProperties'] : true;
  const described = isJsonObject(properties) ? Object.entries(properties) : [];
  const members = described.map(([name, property]) => {
    const key = `${JSON.stringify(name)}${itemsIn(required).includes(name) ? '' : '?'}`;
    return member(key, declareSchema(property, reading), isJsonObject(property) ? property : {});
  });
  if (additionalProperties !== false && members.length === 0)
    return `Record<string, ${declareSchema(additionalProperties, reading)}>`;
  // The type of the other properties must fit the described ones as well.
  return block(
    (additionalProperties ?? false) === false ? members : [...members, '[name: string]: unknown;'],
  );
}

function itemsIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

type Described = { description?: unknown; deprecated?: unknown };

function member(key: string, declared: string, { description, deprecated }: Described): string {
  const text = typeof description === 'string' ? description.trim().replaceAll('*/', '*\\/') : '';
  const lines = [text, deprecated === true ? '@deprecated' : ''].filter((line) => line !== '');
  const comment = lines.join('\n').replaceAll(/\r\n|[\n\r\u2028\u2029]/g, '\n * ');
  return `${comment === '' ? '' : `/** ${comment} */\n`}${key}: ${declared};`;
}

function block(members: readonly string[]): string {
  return `{${members.map((one) => `\n  ${one.replaceAll('\n', '\n  ')}`).join('')}\n}`;
}

/** One of these; unknown if there is none. */
function unite(types: readonly string[]): string {
  return types.length === 0 || types.includes('unknown') ? 'unknown' : [...new Set(types)].join(' | ');
}
