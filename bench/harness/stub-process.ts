import { hash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { aBarePolicy } from '../../test/support/builders.ts';
import { answerWith } from './child.ts';
import { type DynamoRequest, dynamoStub, isChunk } from './stub-dynamo.ts';
import { itemsOf } from './stub-items.ts';
import { stubQuestion, type Counts } from './stubs.ts';

/** AWS and subscribers in a process of their own, so that what they do costs the measured function nothing. */

/** Of them each is another origin, with connections of its own. */
const SUBSCRIBERS = 10;

const dynamo = dynamoStub();
let counts: Counts = {};
let jobs: string[] = [];
let claim: object = {};
let record: object = {};
let chunkClaim: object = {};
let chunkRecord: object = {};
let headers: object = {};

const count = (what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

const batch = z.object({ Entries: z.array(z.object({ Id: z.string(), MessageBody: z.string() })) });

const sendBatch = (request: unknown): object => {
  const { Entries } = batch.parse(request);
  jobs.push(...Entries.map(({ MessageBody }) => MessageBody));
  return {
    Successful: Entries.map(({ Id, MessageBody }) => ({
      Id,
      MessageId: Id,
      MD5OfMessageBody: hash('md5', MessageBody),
    })),
  };
};

const single = z.object({ MessageBody: z.string() });

/** Nobody takes what could not be delivered, so that it is not kept. */
const sendOne = (request: unknown): object => ({
  MessageId: 'message',
  MD5OfMessageBody: hash('md5', single.parse(request).MessageBody),
});

/** What a key store knows is of no matter here: the same key for all. */
const dataKey = {
  Plaintext: Buffer.alloc(32).toString('base64'),
  CiphertextBlob: Buffer.alloc(184).toString('base64'),
};

const dynamoRequest = z.custom<DynamoRequest>((value) => typeof value === 'object');

const remember = (operation: string, request: DynamoRequest): void => {
  if (operation === 'PutItem') claim = request;
  if (operation !== 'UpdateItem') return;
  if (!isChunk(request.Key ?? {})) record = request;
  else if (request.UpdateExpression?.includes('#lease = ') === true) chunkClaim = request;
  else chunkRecord = request;
};

const answerTo = (target: string, body: string): object => {
  const [service = '', operation = ''] = target.split('.');
  const request: unknown = JSON.parse(body);
  count(operation);
  switch (service) {
    case 'DynamoDB_20120810':
      remember(operation, dynamoRequest.parse(request));
      return dynamo.answer(operation, dynamoRequest.parse(request));
    case 'AmazonSQS':
      return operation === 'SendMessage' ? sendOne(request) : sendBatch(request);
    case 'AWSEvents':
      return { FailedEntryCount: 0, Entries: [{ EventId: 'event' }] };
    case 'TrentService':
      return dataKey;
    default:
      throw new Error(`The stub knows no ${target}.`);
  }
};

const aws: RequestListener = (incoming, outgoing) => {
  void text(incoming).then((body) => {
    const target = String(incoming.headers['x-amz-target']);
    outgoing.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    outgoing.end(JSON.stringify(answerTo(target, body)));
  });
};

const subscriber: RequestListener = (incoming, outgoing) => {
  void text(incoming).then(() => {
    count('POST');
    ({ headers } = incoming);
    outgoing.writeHead(200, { 'content-type': 'text/plain' });
    outgoing.end('ok');
  });
};

const listening = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A server listens on no port.');
  return `http://127.0.0.1:${address.port}`;
};

const addresses = (async () => ({
  endpoint: await listening(aws),
  subscribers: await Promise.all(Array.from({ length: SUBSCRIBERS }, () => listening(subscriber))),
}))();

answerWith(stubQuestion, async (question) => {
  switch (question.ask) {
    case 'listen':
      return addresses;
    case 'add_queue': {
      const { name, fanOut, subscribers } = question;
      const own = await addresses;
      const items =
        subscribers === undefined
          ? itemsOf(name, fanOut, own)
          : itemsOf(name, fanOut, { ...own, subscribers }, aBarePolicy());
      dynamo.addQueue(await items);
      return { done: true };
    }
    case 'take_jobs': {
      const taken = { jobs };
      jobs = [];
      return taken;
    }
    case 'take_counts': {
      const taken = { counts };
      counts = {};
      return taken;
    }
    case 'requests':
      return { claim, record, chunkClaim, chunkRecord, headers };
  }
});
