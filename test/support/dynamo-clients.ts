import { onTestFinished } from 'vitest';
import { documentClient, type DocumentClient } from '../../shared/adapters/aws/document-client.ts';
import { startRelay } from './relay.ts';

export type Endpoint = { endpoint: string; region: string };

const clientOf = ({ endpoint, region }: Endpoint): DocumentClient =>
  documentClient({ endpoint, region, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } });

export type DocumentCall = keyof DocumentClient;

/** A client that does something before each call, which is not made if that throws. */
export const interruptedClient = (
  endpoint: Endpoint,
  before: (call: DocumentCall, input: unknown) => Promise<void>,
): DocumentClient => {
  const client = clientOf(endpoint);
  const after =
    <Input, Output>(call: DocumentCall, made: (input: Input) => Promise<Output>) =>
    async (input: Input): Promise<Output> => {
      await before(call, input);
      return await made(input);
    };
  return {
    get: after('get', client.get),
    put: after('put', client.put),
    update: after('update', client.update),
    delete: after('delete', client.delete),
    query: after('query', client.query),
    batchGet: after('batchGet', client.batchGet),
    transactWrite: after('transactWrite', client.transactWrite),
  };
};

/** A client that counts the calls made by it: each is one request, as long as none fails. */
export const countingClient = (endpoint: Endpoint) => {
  let count = 0;
  const client = interruptedClient(endpoint, () => {
    count += 1;
    return Promise.resolve();
  });
  return { client, requests: () => count };
};

/** A client, for this test, whose first request arrives, but its answer does not: it sends it again. */
export const forgetfulClient = async ({ endpoint, region }: Endpoint): Promise<DocumentClient> => {
  let lost = false;
  const relay = await startRelay(endpoint, async (_, forward) => {
    const answer = await forward();
    if (lost) return answer;
    lost = true;
    return 'cut';
  });
  onTestFinished(relay.close);
  return clientOf({ endpoint: relay.origin, region });
};
