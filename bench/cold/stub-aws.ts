import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { marshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { certificateAuthority } from '../../test/support/certificates.ts';
import { updated, type DynamoRequest, type Item } from '../harness/stub-dynamo.ts';

/** What the subscriptions table holds. */
export type Items = readonly Record<string, unknown>[];

export type StubAws = AsyncDisposable & {
  /** The origin of all services, and of the subscriber. */
  url: string;
  /** PEM text of the authority that has to be trusted for it. */
  authority: string;
  /** What was asked since this was last called, in the order of the alphabet. */
  takeCalls: () => string[];
};

type Answer = (body: unknown) => unknown;

const getInput = z.object({ TableName: z.string(), Key: z.object({ sk: z.object({ S: z.string() }) }) });
const queryInput = z.object({ IndexName: z.string().optional() });
const dynamoRequest = z.custom<DynamoRequest>((value) => typeof value === 'object');
const sentInput = z.object({ Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })) });

/**
 * Answers on loopback, by TLS as the services do, what they answer where all goes well: reads find the items of the subscriptions table, writes
 * succeed, and `dataKey` is what KMS makes of every ciphertext. Everything else is a POST to a subscriber, who is content.
 */
export const startStubAws = async (
  itemsFor: (url: string) => Items,
  dataKey: Uint8Array,
): Promise<StubAws> => {
  let calls: string[] = [];
  let answers: ReadonlyMap<string, Answer> = new Map();
  const answerTo = async (request: IncomingMessage): Promise<string> => {
    const body = await text(request);
    const operation = String(request.headers['x-amz-target'] ?? `${request.method} ${request.url}`);
    calls.push(operation);
    const answer = answers.get(operation)?.(JSON.parse(body)) ?? {};
    return JSON.stringify(answer);
  };
  const authority = certificateAuthority('Bench');
  const server = createServer(authority.issue({ names: ['127.0.0.1'] }), (request, response) => {
    answerTo(request).then(
      (body) => response.setHeader('content-type', 'application/x-amz-json-1.0').end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The stub has no port.');
  const url = `https://127.0.0.1:${address.port}`;
  answers = answersFrom(itemsFor(url), dataKey);
  return {
    url,
    authority: authority.cert,
    takeCalls: () => {
      const taken = calls.toSorted();
      calls = [];
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
};

const answersFrom = (items: Items, dataKey: Uint8Array): ReadonlyMap<string, Answer> => {
  const found = items.map((item) => marshall(item));
  let put: Item = {};
  return new Map<string, Answer>([
    [
      'DynamoDB_20120810.Query',
      (body) =>
        // Nothing is overdue, and nothing retries.
        queryInput.parse(body).IndexName === undefined
          ? { Items: found, Count: found.length }
          : { Items: [], Count: 0 },
    ],
    [
      'DynamoDB_20120810.GetItem',
      (body) => {
        const { sk } = getInput.parse(body).Key;
        return { Item: found.find((item) => item['sk']?.S === sk.S) };
      },
    ],
    [
      'DynamoDB_20120810.PutItem',
      (body) => {
        put = dynamoRequest.parse(body).Item ?? {};
        return {};
      },
    ],
    // deliver goes by the record that its write answers with.
    ['DynamoDB_20120810.UpdateItem', (body) => ({ Attributes: updated(put, dynamoRequest.parse(body)) })],
    ['TrentService.Decrypt', () => ({ Plaintext: Buffer.from(dataKey).toString('base64') })],
    [
      'AmazonSQS.SendMessageBatch',
      (body) => ({
        Successful: sentInput.parse(body).Entries.map(({ Id, MessageBody }) => ({
          Id,
          MessageId: Id,
          MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
        })),
      }),
    ],
  ]);
};
