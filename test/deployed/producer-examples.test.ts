import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import type { APIGatewayProxyEventV2, Context, DynamoDBRecord } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { placeOrder } from '../../examples/transactional-outbox/place-order.ts';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { awsEnvironment } from '../../local/local-aws.ts';
import { loopbackPort } from '../../local/loopback-port.ts';
import { answerOf } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Answer, type ReceivedRequest } from '../support/receiver.ts';

const { client, dynamo, endpoints } = deployment;

const subscribed = z.object({ subscription_id: z.string(), secret: z.string() });

/** What the examples read when they are imported. */
const environment = (variables: Record<string, string>): void => {
  const all = { ...awsEnvironment(endpoints.endpoint, client.credentials), ...variables };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
};

afterAll(() => {
  vi.unstubAllEnvs();
});

const inLambda = { getRemainingTimeInMillis: () => 30_000, awsRequestId: 'request-1' } as Context;

/** Creates a table with a text key, and returns its name and the ARN of its stream. */
const newTable = async (key: string) => {
  const { TableDescription: table } = await dynamo.send(
    new CreateTableCommand({
      TableName: `examples-${randomUUID()}`,
      AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
      KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    }),
  );
  return z.object({ TableName: z.string(), LatestStreamArn: z.string() }).parse(table);
};

describe('the examples of a Lambda producer and of a receiver with Powertools', () => {
  it('credit a payment once, although the webhook comes twice', async () => {
    const [accounts, idempotency] = [await newTable('account'), await newTable('id')];
    const receiver = await startReceiver();
    const { secret } = subscribed.parse(
      await answerOf('POST', '/v2/queues/payments/subscriptions', { subscriber: receiver.url('/payments') }),
    );
    environment({
      INGRESS_QUEUE_URL: endpoints.ingressQueueUrl,
      WEBHOOK_KEYS: secret,
      ACCOUNTS_TABLE: accounts.TableName,
      IDEMPOTENCY_TABLE: idempotency.TableName,
      POWERTOOLS_LOG_LEVEL: 'SILENT',
    });
    const producer = await import('../../examples/lambda-producer/handler.ts');
    const { handler } = await import('../../examples/powertools-receiver/handler.ts');
    const received = async (request: ReceivedRequest): Promise<Answer> => {
      const { statusCode } = await handler(httpEvent(request), inLambda);
      return { status: statusCode };
    };
    receiver.script('/payments', received);

    const id = randomUUID();
    const payments = [{ id, account: 'acme', amount: 1250 }];
    expect(await producer.handler({ payments }, inLambda)).toEqual([`payment-received-${id}`]);
    const [request] = await receiver.waitFor('/payments', 1);
    if (request === undefined) throw new Error('no webhook came');
    // Waits for the first, which may be under way, as Posthaste does by its retry.
    await eventually('the answer to the repeated webhook', () => received(request).catch(() => undefined));
    const { Item } = await dynamo.send(
      new GetCommand({ TableName: accounts.TableName, Key: { account: 'acme' } }),
    );
    expect(Item).toEqual({ account: 'acme', balance: 1250 });
    expect(await received({ ...request, body: Buffer.from('{}') })).toEqual({ status: 401 });
    await receiver.close();
  });

  /** As a function URL passes it on (payload format 2.0). */
  const httpEvent = ({ body, headers }: ReceivedRequest) =>
    ({ headers, body: body.toString('base64'), isBase64Encoded: true }) as unknown as APIGatewayProxyEventV2;
});

describe('the examples of a transactional outbox and of a receiver with Express', () => {
  let receiver: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const port = await loopbackPort();
    url = `http://127.0.0.1:${port}`;
    const subscriptions = '/v2/queues/orders/subscriptions';
    const { subscription_id: id } = subscribed.parse(
      await answerOf('POST', subscriptions, { subscriber: `${url}/webhooks` }),
    );
    const { publicKey } = z
      .object({ publicKey: z.string() })
      .parse(
        await answerOf('POST', `${subscriptions}/${id}/secret/rotate`, { type: 'v1a', graceSeconds: 0 }),
      );
    receiver = spawn(projectNode, ['examples/express-receiver/receiver.ts'], {
      cwd: projectRoot,
      env: { ...process.env, PORT: String(port), WEBHOOK_KEYS: publicKey },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await eventually('the receiver', () => fetch(`${url}/orders`).catch(() => undefined));
  });

  afterAll(() => {
    receiver.kill();
  });

  /** The records of a stream, as Lambda passes them on. */
  const recordsOf = async (StreamArn: string): Promise<DynamoDBRecord[]> => {
    const streams = new DynamoDBStreamsClient(client);
    const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
    const ShardId = StreamDescription?.Shards?.[0]?.ShardId;
    const { ShardIterator } = await streams.send(
      new GetShardIteratorCommand({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' }),
    );
    const { Records = [] } = await streams.send(new GetRecordsCommand({ ShardIterator }));
    return JSON.parse(JSON.stringify(Records)) as DynamoDBRecord[];
  };

  it('publish an order that was placed, once although its stream record is read twice', async () => {
    const { TableName, LatestStreamArn } = await newTable('pk');
    const order = { id: randomUUID(), customer: 'acme', total: 1250 };
    await placeOrder(dynamo, TableName, order);
    await expect(placeOrder(dynamo, TableName, order)).rejects.toThrow('Transaction cancelled');
    environment({ INGRESS_QUEUE_URL: endpoints.ingressQueueUrl });
    const { handler } = await import('../../examples/transactional-outbox/publish-outbox.ts');
    const Records = await recordsOf(LatestStreamArn);
    expect(Records).toHaveLength(2);
    await handler({ Records });
    await handler({ Records });

    await eventually('the order at the receiver', async () => {
      const orders: unknown = await (await fetch(`${url}/orders`)).json();
      return JSON.stringify(orders).includes(order.id) ? orders : undefined;
    });
    const row = Records.map(({ dynamodb }) => dynamodb?.Keys?.['pk']?.S ?? '').find((pk) =>
      pk.startsWith('outbox#'),
    );
    const message = `/v2/queues/orders/messages/${row?.slice('outbox#'.length)}`;
    await eventually('the repeat', async () => {
      const { duplicates } = z
        .object({ duplicates: z.number().optional() })
        .parse(await answerOf('GET', message));
      return duplicates === 1 ? duplicates : undefined;
    });
  });

  it('refuse a request without a signature', async () => {
    const response = await fetch(`${url}/webhooks`, { method: 'POST', body: '{}' });
    expect(response.status).toBe(401);
  });
});
