import { createHash } from 'node:crypto';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { awsEnvironment, plainEnvironment } from '../../../local/local-aws.ts';
import { awsStub, type AwsStub, type StubAnswer } from '../../support/aws-stub.ts';
import { posthaste, wordsOf, type Line, type RunOptions } from './run-command.ts';
import { json } from './stub-api.ts';

export const OUTPUTS = [
  ...['Ingress', 'Delivery', 'Retry', 'Operation', 'Undeliverable'].map((name) => `${name}QueueUrl`),
  ...['Ingress', 'Delivery', 'Operation'].map((name) => `${name}DeadLetterUrl`),
  ...['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api'].map((name) => `${name}Function`),
  ...['SubscriptionsTable', 'DeliveriesTable', 'ScheduleGroup', 'OperatorEventBus', 'ApiId', 'ApiUrl'],
];

const entry = z.object({
  Id: z.string(),
  MessageBody: z.string().default(''),
  MessageAttributes: z.record(z.string(), z.object({ StringValue: z.string() })).default({}),
  ReceiptHandle: z.string().default(''),
});
const requestSchema = z.object({
  QueueUrl: z.string(),
  MaxNumberOfMessages: z.number().default(0),
  Entries: z.array(entry).default([]),
});
type SqsRequest = z.infer<typeof requestSchema>;

/** The path of the output ApiUrl. */
const API = '/000000000000/ApiUrl';

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

const mapValues = <Value, Mapped>(
  record: Readonly<Record<string, Value>> = {},
  mapped: (value: Value) => Mapped,
): Record<string, Mapped> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, mapped(value)]));

/** A message that was sent, with the name of its queue. */
type Sent = { queue: string; body: string; attributes: Record<string, string> };

/**
 * CloudFormation and SQS on loopback with a deployment `Posthaste`, until the end of the test. Receiving from any of
 * its queues returns the given bodies, which were sent an hour ago, as dead letters `letter-0`, `letter-1` and so on.
 */
export const stubbedDeployment = async ({
  bodies = [],
  onSend = () => undefined,
  onApi = () => ({ status: 404 }),
  attributes = {},
  stacks = STACKS,
  onStack = emptyStack,
}: {
  bodies?: readonly string[];
  onSend?: () => StubAnswer | undefined;
  /** The administration API: a method and a path, such as `GET /v2/health`. */
  onApi?: (request: string) => StubAnswer;
  /** Attributes of the dead letters, of type String, by body. */
  attributes?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** @default the built-in app's, and one of an older version */
  stacks?: Stacks;
  /** Actions of CloudFormation on one stack. @default it has no resources */
  onStack?: (action: string) => StubAnswer;
} = {}) => {
  const sentAt = Date.now() - 3_600_000;
  const deadLetters = new Map(bodies.map((body, index) => [`letter-${index}`, body]));
  /** Ids of dead letters that are hidden. */
  const held = new Set<string>();
  const sent: Sent[] = [];
  const answers: Record<string, (request: SqsRequest) => StubAnswer> = {
    ReceiveMessage: ({ MaxNumberOfMessages }) => {
      const shown = [...deadLetters].filter(([id]) => !held.has(id)).slice(0, MaxNumberOfMessages);
      for (const [id] of shown) held.add(id);
      const Messages = shown.map(([id, body]) => ({
        MessageId: id,
        ReceiptHandle: id,
        Body: body,
        MD5OfBody: md5(body),
        Attributes: { SentTimestamp: String(sentAt), ApproximateReceiveCount: '3' },
        MessageAttributes: mapValues(attributes[body], (StringValue) => ({
          DataType: 'String',
          StringValue,
        })),
      }));
      return json({ Messages });
    },
    SendMessageBatch: ({ QueueUrl, Entries }) => {
      const instead = onSend();
      if (instead !== undefined) return instead;
      for (const { MessageBody, MessageAttributes } of Entries) {
        const texts = mapValues(MessageAttributes, ({ StringValue }) => StringValue);
        sent.push({ queue: QueueUrl.split('/').at(-1) ?? '', body: MessageBody, attributes: texts });
      }
      const Successful = Entries.map(({ Id, MessageBody }) => ({
        Id,
        MessageId: Id,
        MD5OfMessageBody: md5(MessageBody),
      }));
      return json({ Successful, Failed: [] });
    },
    DeleteMessageBatch: ({ Entries }) => {
      for (const { ReceiptHandle } of Entries) {
        deadLetters.delete(ReceiptHandle);
        held.delete(ReceiptHandle);
      }
      return json({ Successful: Entries.map(({ Id }) => ({ Id })), Failed: [] });
    },
    ChangeMessageVisibilityBatch: ({ Entries }) => {
      for (const { ReceiptHandle } of Entries) held.delete(ReceiptHandle);
      return json({ Successful: Entries.map(({ Id }) => ({ Id })), Failed: [] });
    },
    GetQueueAttributes: () =>
      json({
        Attributes: {
          ApproximateNumberOfMessages: String(deadLetters.size - held.size),
          ApproximateNumberOfMessagesNotVisible: String(held.size),
        },
      }),
  };
  const stub: AwsStub = await awsStub(({ method, path, headers, body }) => {
    if (path.startsWith(API)) return onApi(`${method} ${path.slice(API.length)}`);
    const action = String(headers['x-amz-target']).split('.').at(-1) ?? '';
    const answer = answers[action];
    if (answer !== undefined) return answer(requestSchema.parse(JSON.parse(body)));
    const asked = new URLSearchParams(body);
    if (asked.get('Action') !== 'DescribeStacks') return onStack(asked.get('Action') ?? '');
    return describeStacks(asked, { stacks, endpoint: stub.config.endpoint });
  });
  onTestFinished(stub.close);
  const { endpoint, credentials } = stub.config;
  const environment = { ...plainEnvironment(), ...awsEnvironment(endpoint, credentials) };
  /** Runs a command line on this deployment. */
  const run = (line: Line, options: RunOptions = {}) =>
    posthaste([...wordsOf(line), '--deployment', 'Posthaste'], { env: environment, ...options });
  return { environment, run, deadLetters, held, sent, close: stub.close };
};

/** Outputs by stack; those without a value have their name as value. */
type Stacks = Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;

const allOutputs = Object.fromEntries(OUTPUTS.map((name) => [name, undefined]));

export const STACKS: Stacks = {
  PosthastePipeline: allOutputs,
  PosthasteState: {},
  OldPipeline: { ApiId: undefined },
  OldState: {},
};

/** What a construct `Posthaste` adds to a stack: its path before each name, and a hash behind. */
export const outputsOfConstruct = (path: string, deployment: string): Stacks[string] => ({
  ...Object.fromEntries(OUTPUTS.map((name) => [`${path}${name}0A1B2C3D`, name])),
  [`${path}PosthasteDeployment0A1B2C3D`]: deployment,
});

/** One stack by its name, or all on pages of one stack each. */
const describeStacks = (
  asked: URLSearchParams,
  { stacks, endpoint }: { stacks: Stacks; endpoint: string },
): StubAnswer => {
  const page = Number(asked.get('NextToken') ?? '0');
  const name = asked.get('StackName') ?? Object.keys(stacks)[page] ?? '';
  const outputs = stacks[name];
  if (outputs === undefined)
    return xml(
      `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id ${name} does not exist</Message></Error></ErrorResponse>`,
      400,
    );
  const members = Object.entries(outputs).map(([key, output = key]) => {
    const value = output.endsWith('Url') ? `${endpoint}/000000000000/${output}` : output;
    return `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`;
  });
  const id = `arn:aws:cloudformation:us-east-1:111122223333:stack/${name}/1`;
  const stack = `<member><StackId>${id}</StackId><StackName>${name}</StackName><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${members.join('')}</Outputs></member>`;
  const hasNext = !asked.has('StackName') && page + 1 < Object.keys(stacks).length;
  const next = hasNext ? `<NextToken>${page + 1}</NextToken>` : '';
  return xml(
    `<DescribeStacksResponse><DescribeStacksResult><Stacks>${stack}</Stacks>${next}</DescribeStacksResult></DescribeStacksResponse>`,
  );
};

/** A stack without resources, for any action. */
const emptyStack = (action: string): StubAnswer => {
  const result =
    '<TemplateBody>{"Resources":{}}</TemplateBody><DetectionStatus>DETECTION_COMPLETE</DetectionStatus>';
  return xml(`<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`);
};

export const xml = (body: string, status = 200): StubAnswer => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body,
});
