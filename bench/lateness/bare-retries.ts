import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { readFileSync } from 'node:fs';
import { clientOf, type Endpoints } from '../../local/endpoints.ts';
import type { Cell, Release } from './load.ts';

/** What has to be there for a retry to be made late, or at all: a queue with a delay, a function that it feeds, and a request. */
export type BareRetries = {
  /** Answers with when it is due, in ms since the epoch. */
  send: (release: Pick<Release, 'cell' | 'number'>, request: { id: string; url: string }) => Promise<number>;
};

const STACK = 'BareRetries';

const CREATED_WITHIN_SECONDS = 60;

/**
 * On the same local AWS, beside the system. A retry by SQS is due in whole seconds, as DelaySeconds are; what is left of one by
 * Scheduler is not, so that it comes up to half a second late, or early and is waited for.
 */
export async function startBareRetries(endpoints: Endpoints): Promise<BareRetries> {
  const QueueUrl = await queueOf(new CloudFormationClient(clientOf(endpoints)));
  const sqs = new SQSClient(clientOf(endpoints));
  return {
    send: async ({ cell, number }, request) => {
      const { delaySeconds: DelaySeconds } = cell;
      const dueAt = Date.now() + (DelaySeconds + asideOf(cell, number)) * 1000;
      const MessageBody = JSON.stringify({ ...request, dueAt });
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, DelaySeconds }));
      return dueAt;
    },
  };
}

/** Multiples of it, without their whole part, are spread evenly and in no order. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Seconds from -0.5 up to 0.5 beside the whole ones; none by SQS. */
function asideOf({ by }: Cell, number: number): number {
  return by === 'scheduler' ? ((number * GOLDEN) % 1) - 0.5 : 0;
}

async function queueOf(cloudFormation: CloudFormationClient): Promise<string> {
  const TemplateBody = JSON.stringify({ Resources, Outputs: { QueueUrl: { Value: { Ref: 'Queue' } } } });
  await cloudFormation.send(
    new CreateStackCommand({ StackName: STACK, TemplateBody, Capabilities: ['CAPABILITY_IAM'] }),
  );
  await waitUntilStackCreateComplete(
    { client: cloudFormation, maxWaitTime: CREATED_WITHIN_SECONDS, minDelay: 1, maxDelay: 1 },
    { StackName: STACK },
  );
  const { Stacks } = await cloudFormation.send(new DescribeStacksCommand({ StackName: STACK }));
  const url = Stacks?.[0]?.Outputs?.[0]?.OutputValue;
  if (url === undefined) throw new Error('The bare function was deployed without its queue.');
  return url;
}

const role = {
  AssumeRolePolicyDocument: {
    Version: '2012-10-17',
    Statement: [
      { Effect: 'Allow', Principal: { Service: 'lambda.amazonaws.com' }, Action: 'sts:AssumeRole' },
    ],
  },
  ManagedPolicyArns: ['arn:aws:iam::aws:policy/service-role/AWSLambdaSQSQueueExecutionRole'],
};

/** Batches, memory and time as those of deliver. Inline code becomes index.js, which Lambda takes for CommonJS. */
const Resources = {
  Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 180 } },
  Role: { Type: 'AWS::IAM::Role', Properties: role },
  Function: {
    Type: 'AWS::Lambda::Function',
    Properties: {
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Code: { ZipFile: readFileSync(new URL('bare/wait-and-post.cjs', import.meta.url), 'utf8') },
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
};
