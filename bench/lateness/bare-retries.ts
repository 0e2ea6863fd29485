import { readFileSync } from 'node:fs';
import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { clientOf, type Endpoints } from '../../local/endpoints.ts';
import type { Cell } from './figures.ts';

/** Returns when the retry is due, in ms since the epoch. */
export type SendBare = (release: { cell: Cell; number: number }, id: string) => Promise<number>;

const StackName = 'BareRetries';

const CREATED_WITHIN_SECONDS = 60;

/**
 * The least that makes a retry, on the same local AWS: a queue with a delay, and a function that makes a request. A retry by SQS is
 * due at whole seconds, as DelaySeconds are. One by Scheduler is due up to half a second beside them, as its last hop is.
 */
export async function startBareRetries(endpoints: Endpoints, url: string): Promise<SendBare> {
  const QueueUrl = await deployedQueue(new CloudFormationClient(clientOf(endpoints)));
  const sqs = new SQSClient(clientOf(endpoints));
  return async ({ cell, number }, id) => {
    const { delaySeconds: DelaySeconds } = cell;
    const dueAt = Date.now() + (DelaySeconds + besideSecond(cell, number)) * 1000;
    const MessageBody = JSON.stringify({ id, url, dueAt });
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, DelaySeconds }));
    return dueAt;
  };
}

/** The fractions of its multiples are spread evenly. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Seconds from -0.5 up to 0.5; 0 by SQS. */
function besideSecond({ by }: Cell, number: number): number {
  return by === 'scheduler' ? ((number * GOLDEN) % 1) - 0.5 : 0;
}

async function deployedQueue(client: CloudFormationClient): Promise<string> {
  const TemplateBody = JSON.stringify({ Resources, Outputs: { QueueUrl: { Value: { Ref: 'Queue' } } } });
  await client.send(new CreateStackCommand({ StackName, TemplateBody, Capabilities: ['CAPABILITY_IAM'] }));
  const waiting = { client, maxWaitTime: CREATED_WITHIN_SECONDS, minDelay: 1, maxDelay: 1 };
  await waitUntilStackCreateComplete(waiting, { StackName });
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName }));
  const url = Stacks?.[0]?.Outputs?.[0]?.OutputValue;
  if (url === undefined) throw new Error('The stack of the bare function has no output.');
  return url;
}

const assumedByLambda = {
  Effect: 'Allow',
  Principal: { Service: 'lambda.amazonaws.com' },
  Action: 'sts:AssumeRole',
};

/** Batch size, memory and timeout are those of deliver. Inline code becomes index.js, a CommonJS module. */
const Resources = {
  Queue: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 180 } },
  Role: {
    Type: 'AWS::IAM::Role',
    Properties: {
      AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [assumedByLambda] },
      ManagedPolicyArns: ['arn:aws:iam::aws:policy/service-role/AWSLambdaSQSQueueExecutionRole'],
    },
  },
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
