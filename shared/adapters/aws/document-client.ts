import { randomUUID } from 'node:crypto';
import type {
  BatchGetCommandInput,
  DeleteCommandInput,
  GetCommandInput,
  PutCommandInput,
  QueryCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { absent } from './answer.ts';
import { attributesOf, itemSchema, wireOf } from './document-values.ts';
import { jsonService } from './service.ts';
import type { ServiceOptions } from './service-options.ts';

export type Item = Record<string, unknown>;

/**
 * What our functions ask of DynamoDB, by the words of its API reference and with plain values in place of its typed ones, as
 * the SDK's document client has them. A field that is undefined is not written; binary values are not supported.
 */
export type DocumentClient = {
  get: (input: GetCommandInput) => Promise<{ Item?: Item | undefined }>;
  put: (input: PutCommandInput) => Promise<{ Attributes?: Item | undefined }>;
  update: (input: UpdateCommandInput) => Promise<{ Attributes?: Item | undefined }>;
  delete: (input: DeleteCommandInput) => Promise<{ Attributes?: Item | undefined }>;
  query: (input: QueryCommandInput) => Promise<QueryPage>;
  batchGet: (input: BatchGetCommandInput) => Promise<BatchOfItems>;
  transactWrite: (input: TransactWriteCommandInput) => Promise<unknown>;
};

export type QueryPage = { Items: Item[]; LastEvaluatedKey?: Item | undefined };

/** By table. */
export type BatchOfItems = {
  Responses: Record<string, Item[]>;
  UnprocessedKeys: Record<string, { Keys: Item[] }>;
};

const DYNAMODB = { id: 'dynamodb', target: 'DynamoDB_20120810', version: '1.0' } as const;

const foundSchema = z.object({ Item: absent(itemSchema) });
const writtenSchema = z.object({ Attributes: absent(itemSchema) });
const pageSchema = z.object({
  Items: absent(z.array(itemSchema)).transform((items = []) => items),
  LastEvaluatedKey: absent(itemSchema),
});
const batchSchema = z.object({
  Responses: absent(z.record(z.string(), z.array(itemSchema))).transform((found = {}) => found),
  UnprocessedKeys: absent(z.record(z.string(), z.object({ Keys: z.array(itemSchema) }))).transform(
    (keys = {}) => keys,
  ),
});

export function documentClient(options: ServiceOptions): DocumentClient {
  const call = jsonService(DYNAMODB, options);
  const written = async (operation: string, input: object) =>
    writtenSchema.parse(await call(operation, wireOf(input)));
  return {
    get: async (input) => foundSchema.parse(await call('GetItem', wireOf(input))),
    put: (input) => written('PutItem', input),
    update: (input) => written('UpdateItem', input),
    delete: (input) => written('DeleteItem', input),
    query: async (input) => pageSchema.parse(await call('Query', wireOf(input))),
    batchGet: async ({ RequestItems = {} }) => {
      const wire = Object.entries(RequestItems).map(([table, { Keys = [], ...read }]): [string, object] => [
        table,
        { ...read, Keys: Keys.map(attributesOf) },
      ]);
      return batchSchema.parse(await call('BatchGetItem', { RequestItems: Object.fromEntries(wire) }));
    },
    // The token makes a repeat harmless whose first request had arrived (API reference, TransactWriteItems).
    transactWrite: ({ TransactItems = [], ClientRequestToken = randomUUID() }) =>
      call('TransactWriteItems', {
        ClientRequestToken,
        TransactItems: TransactItems.map((write) =>
          Object.fromEntries(
            Object.entries(write).flatMap(([kind, of]) => (of === undefined ? [] : [[kind, wireOf(of)]])),
          ),
        ),
      }),
  };
}
