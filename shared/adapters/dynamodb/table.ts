import type {
  DeleteCommandInput,
  DynamoDBDocument,
  GetCommandInput,
  PutCommandInput,
  QueryCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';

type OfTable<Input> = Omit<Input, 'TableName'>;

/** One table: the requests of the document client without its name. Transactions name the table in each of their writes. */
export type Table = ReturnType<typeof openTable>;

export function openTable(client: DynamoDBDocument, name: string) {
  const TableName = name;
  return {
    name,
    client,
    get: (input: OfTable<GetCommandInput>) => client.get({ TableName, ...input }),
    put: (input: OfTable<PutCommandInput>) => client.put({ TableName, ...input }),
    update: (input: OfTable<UpdateCommandInput>) => client.update({ TableName, ...input }),
    delete: (input: OfTable<DeleteCommandInput>) => client.delete({ TableName, ...input }),
    query: (input: OfTable<QueryCommandInput>) => client.query({ TableName, ...input }),
  };
}
