import type {
  DeleteCommandInput,
  DeleteCommandOutput,
  DynamoDBDocument,
  GetCommandInput,
  GetCommandOutput,
  PutCommandInput,
  PutCommandOutput,
  QueryCommandInput,
  QueryCommandOutput,
  UpdateCommandInput,
  UpdateCommandOutput,
} from '@aws-sdk/lib-dynamodb';

type OfTable<Input> = Omit<Input, 'TableName'>;

/** One table: the requests of the document client without its name. Transactions name the table in each of their writes. */
export type Table = {
  name: string;
  client: DynamoDBDocument;
  get(input: OfTable<GetCommandInput>): Promise<GetCommandOutput>;
  put(input: OfTable<PutCommandInput>): Promise<PutCommandOutput>;
  update(input: OfTable<UpdateCommandInput>): Promise<UpdateCommandOutput>;
  delete(input: OfTable<DeleteCommandInput>): Promise<DeleteCommandOutput>;
  query(input: OfTable<QueryCommandInput>): Promise<QueryCommandOutput>;
};

export function tableOf(client: DynamoDBDocument, name: string): Table {
  const TableName = name;
  return {
    name,
    client,
    get: (input) => client.get({ TableName, ...input }),
    put: (input) => client.put({ TableName, ...input }),
    update: (input) => client.update({ TableName, ...input }),
    delete: (input) => client.delete({ TableName, ...input }),
    query: (input) => client.query({ TableName, ...input }),
  };
}
