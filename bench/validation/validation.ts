import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { cachedEventTypes } from '../../shared/adapters/dynamodb/subscriptions/event-types.ts';
import { lazyValidation } from '../../shared/adapters/pattern/lazy-validation.ts';
import { systemClock as clock } from '../../shared/adapters/system-clock.ts';
import { checkEvent, type EventChecks } from '../../shared/steps/check-event.ts';
import { awsStub } from '../../test/support/aws-stub.ts';
import { type Bench, runBench } from '../harness/command.ts';

const fields = Array.from({ length: 20 }, (_, at) => `field_${at}`);

const kinds = [
  { schema: { type: 'string', maxLength: 100 }, value: 'x'.repeat(99) },
  { schema: { type: 'string', pattern: '^[a-z]+-[0-9]{1,10}$' }, value: 'order-1234567890' },
  { schema: { type: 'integer', minimum: 0 }, value: 12_345 },
  { schema: { enum: ['small', 'medium', 'large'] }, value: 'large' },
  { schema: { type: 'array', items: { $ref: '#/$defs/line' } }, value: [{ sku: 'a-1', amount: 2 }] },
];
const kindAt = (at: number) => kinds[at % kinds.length] ?? { schema: true, value: null };

/** A type as people write it: 20 fields of five kinds, four of them with patterns. */
const usual = {
  type: 'object',
  required: fields,
  properties: Object.fromEntries(fields.map((name, at) => [name, kindAt(at).schema])),
  additionalProperties: false,
  $defs: {
    line: {
      type: 'object',
      required: ['sku'],
      properties: { sku: { type: 'string' }, amount: { type: 'number' } },
    },
  },
};
const usualText = JSON.stringify(Object.fromEntries(fields.map((name, at) => [name, kindAt(at).value])));

/** Each level refers to the next one twice, and the last one refuses. */
const doubling = {
  $ref: '#/$defs/0',
  $defs: Object.fromEntries(
    Array.from({ length: 41 }, (_, level) => {
      const next = { $ref: `#/$defs/${level + 1}` };
      return [level, level < 40 && { anyOf: [next, next] }];
    }),
  ),
};
const largePattern = { items: { pattern: '^(a|b|ab){1,250}$' } };
const manyNames = { patternProperties: { '^(a+)+$': true, '[ab]*a[ab]{30}$': true } };

const CASES: [name: string, schema: object, data: string][] = [
  ['1 KB, 20 fields', usual, usualText],
  ['references that double at 40 levels', doubling, '1'],
  ['a pattern of 1,753 instructions', largePattern, JSON.stringify(Array(1_000).fill('ab'.repeat(100)))],
  [
    'patterns of names',
    manyNames,
    JSON.stringify(Object.fromEntries(fields.map((_, at) => ['ab'.repeat(500 + at), 1]))),
  ],
];

/** Types of the catalogue, 0 of them cached at first. */
const TYPES = { full: 1_000, short: 100 };
const ROUNDS = 2_000;

const target = z.object({ ExpressionAttributeValues: z.object({ ':sk': z.object({ S: z.string() }) }) });

type Figures = {
  bytes: number;
  checks: { check: string; result: string; milliseconds: number }[];
  catalogue: { types: number; reads: number; readsAgain: number; heapMegabytes: number };
};

/** Processor time of a check, and what a large catalogue takes in an instance. */
const validation: Bench<Figures> = {
  name: 'validation',
  keptIn: 'nowhere',
  measure: async (length, { stack }) => {
    const checks: Figures['checks'] = [];
    const validateEvent = lazyValidation();
    for (const [check, schema, data] of CASES) {
      const found = { name: 'a', createdAt: 0, changedAt: 0, schema: { ...schema } };
      const eventTypes = { find: () => Promise.resolve(found) };
      const rounds = check === CASES[0]?.[0] ? ROUNDS : 5;
      checks.push({ check, ...(await timeOf({ eventTypes, validateEvent }, data, rounds)) });
    }
    let reads = 0;
    const stub = await awsStub(
      ({ body }) => {
        reads += 1;
        const name = target.parse(JSON.parse(body)).ExpressionAttributeValues[':sk'].S.replace('TYPE#', '');
        const type = { v: 1, name, createdAt: 1, changedAt: 1, schema: JSON.stringify(usual) };
        return {
          body: JSON.stringify({ Items: [marshall({ pk: 'EVENT_TYPES', sk: `TYPE#${name}`, ...type })] }),
        };
      },
      { keepsRequests: false },
    );
    stack.defer(stub.close);
    const cached = cachedEventTypes(dynamoClient(stub.config), '', { clock, cacheSeconds: 3600 });
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < TYPES[length]; at += 1) await cached.find(`type.${at}`);
    const first = reads;
    const heapMegabytes = (process.memoryUsage().heapUsed - before) / 2 ** 20;
    for (let at = 0; at < TYPES[length]; at += 1) await cached.find(`type.${at}`);
    const catalogue = { types: TYPES[length], reads: first, readsAgain: reads - first, heapMegabytes };
    return { bytes: Buffer.byteLength(usualText), checks, catalogue };
  },
  faults: ({ checks: [usualCheck], catalogue }) => [
    ...((usualCheck?.milliseconds ?? 1) > 0.2 ? ['A usual message takes over 0.2 ms.'] : []),
    ...(catalogue.readsAgain > 0 ? ['The catalogue does not fit into the cache.'] : []),
  ],
};

async function timeOf(
  checks: EventChecks,
  data: string,
  rounds: number,
): Promise<{ result: string; milliseconds: number }> {
  const message = { queue: 'orders', type: 'a', data };
  const { kind: result } = await checkEvent(checks, message);
  for (let round = 0; round < rounds; round += 1) await checkEvent(checks, message);
  const from = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) await checkEvent(checks, message);
  const { user, system } = process.cpuUsage(from);
  return { result, milliseconds: (user + system) / 1000 / rounds };
}

process.exitCode = await runBench(validation, process.argv.slice(2));
