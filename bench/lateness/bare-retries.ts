import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import type { Endpoints } from '../../local/endpoints.ts';
import { clientOf } from '../harness/deployed.ts';
import type { Cell } from './load.ts';

/** What has to be there for a retry to be made late, or at all: a queue with a delay, a function that it feeds, and a request. */
export type BareRetries = {
  /** Answers with when it is due, in ms since the epoch. */
  send: (retry: BareRetry) => Promise<number>;
};

export type BareRetry = {
  cell: Cell;
  /** Of all retries of the cell. */
  number: number;
  id: string;
  url: string;
};

const STACK = 'BareRetries';

const CREATED_WITHIN_SECONDS = 60;

/**
 * On the same local AWS, beside the system. A retry by SQS is due in whole seconds, as DelaySeconds are; what is left of one by
 * Scheduler is not, so that it comes up to half a second late, or early and is waited for.
 */
export const startBareRetries = async (endpoints: Endpoints): Promise<BareRetries> => {
  const QueueUrl = await queueOf(new CloudFormationClient(clientOf(endpoints)));
  const sqs = new SQSClient(clientOf(endpoints));
  return {
    send: async ({ cell, number, id, url }) => {
      const dueAt = Date.now() + (cell.delaySeconds + asideOf(cell, number)) * 1000;
      const MessageBody = JSON.stringify({ id, url, dueAt });
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, DelaySeconds: cell.delaySeconds }));
      return dueAt;
    },
  };
};

/** Multiples of it, without their whole part, are spread evenly and in no order. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Seconds from -0.5 up to 0.5 beside the whole ones; none by SQS. */
export const asideOf = ({ by }: Cell, number: number): number =>
  by === 'scheduler' ? ((number * GOLDEN) % 1) - 0.5 : 0;

const queueOf = async (cloudFormation: CloudFormationClient): Promise<string> => {
  const TemplateBody = JSON.stringify(template(await source()));
  await cloudFormation.send(
    new CreateStackCommand({ StackName: STACK, TemplateBody, Capabilities: ['CAPABILITY_IAM'] }),
  );
  await waitUntilStackCreateComplete(
    { client: cloudFormation, maxWaitTime: CREATED_WITHIN_SECONDS, minDelay: 1, maxDelay: 1 },
    { StackName: STACK },
  );
  const { Stacks } = await cloudFormation.send(new DescribeStacksCommand({ StackName: STACK }));
  const url = Stacks?.[0]?.Outputs?.find(({ OutputKey }) => OutputKey === 'QueueUrl')?.OutputValue;
  if (url === undefined) throw new Error('The bare function was deployed without its queue.');
  return url;
};

/** Inline code becomes index.js, which Lambda takes for CommonJS (AWS::Lambda::Function Code). */
const source = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('bare/wait-and-post.ts', import.meta.url))],
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'error',
  });
  return outputFiles.map(({ text }) => text).join('');
};

/** Batches, memory and time as those of deliver. */
const template = (ZipFile: string): object => ({
  Resources: {
    Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 180 } },
    Role: {
      Type: 'AWS::IAM::Role',
      Properties: {
        AssumeRolePolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            { Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' },
          ],
        },
        Policies: [{ PolicyName: 'Consume', PolicyDocument: consuming }],
      },
    },
    Function: {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Runtime: 'nodejs24.x',
        Handler: 'index.handler',
        Code: { ZipFile },
        Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
        MemorySize: 512,
        Timeout: 30,
      },
    },
    Mapping: {
      Type: 'AWS::Lambda::EventSourceMapping',
      Properties: {
        EventSourceArn: { 'Fn::GetAtt': ['Queue', 'Arn'] },
        FunctionName: { Ref: 'Function' },
        BatchSize: 10,
        ScalingConfig: { MaximumConcurrency: 5 },
      },
    },
  },
  Outputs: { QueueUrl: { Value: { Ref: 'Queue' } } },
});

const consuming = {
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Action: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
      Resource: { 'Fn::GetAtt': ['Queue', 'Arn'] },
    },
  ],
};
