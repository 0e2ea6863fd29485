import { readFileSync } from 'node:fs';
import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type Endpoints, toClientOptions } from '../../local/endpoints.ts';
import type { AttemptTrigger } from '../../shared/domain/delivery/vocabulary.ts';
import { quantile, type Quantiles, quantilesOf } from '../harness/figures.ts';

/** Returns when the retry is due, in ms since the epoch. */
export type SendBare = (release: { cell: Cell; number: number }, id: string) => Promise<number>;

const StackName = 'BareRetries';

const CREATED_WITHIN_SECONDS = 60;

/**
 * The least that makes a retry, on the same local AWS: a queue with a delay, and a function that makes a request. A retry by SQS is
 * due at whole seconds, as DelaySeconds are. One by Scheduler is due up to half a second beside them, as its last hop is.
 */
export async function startBareRetries(endpoints: Endpoints, url: string): Promise<SendBare> {
  const QueueUrl = await deployedQueue(new CloudFormationClient(toClientOptions(endpoints)));
  const sqs = new SQSClient(toClientOptions(endpoints));
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

/** The mechanism of a wake-up. */
export type By = 'sqs_delay' | 'scheduler';

/** Retries by one mechanism after one delay. */
export type Cell = { by: By; delaySeconds: number };

/** `schedulerThreshold` in seconds: the greatest one sends nearly every retry by SQS, the least one by Scheduler. */
export const thresholds: Readonly<Record<By, number>> = { sqs_delay: 900, scheduler: 0 };

/** Seconds. Shorter delays use SQS at any threshold (docs/retry-policy.md#from-delay-to-wake-up). */
const NEAREST_BY_SCHEDULER = 5;

export function cellsOf(by: By, delays: readonly number[]): readonly Cell[] {
  return delays
    .filter((delaySeconds) => by === 'sqs_delay' || delaySeconds > NEAREST_BY_SCHEDULER)
    .map((delaySeconds) => ({ by, delaySeconds }));
}

/** Its queue, its path at the subscriber, and the prefix of its messages' ids. */
export function nameOf({ by, delaySeconds }: Cell): string {
  return `${by}-${delaySeconds}`;
}

/** A retry on record and at the subscriber. Times in ms since the epoch. */
export type Retry = {
  cell: Cell;
  by: AttemptTrigger | undefined;
  dueAt: number;
  startedAt: number;
  arrivedAt: number;
};

/** A retry of the bare function. */
type BareRetry = Pick<Retry, 'cell' | 'dueAt' | 'arrivedAt'>;

/** Delivered retries of the system, and requests of the bare function. */
export type Results = { retries: readonly Retry[]; bare: readonly BareRetry[] };

export type CellFigures = Cell & {
  retries: number;
  /** Due, but not on record as delivered by a second attempt. */
  undelivered: number;
  /** Began, or arrived, before they were due. */
  early: number;
  /** Woken by another mechanism, by the record. */
  byOthers: number;
  /** In ms from due to begun, by the record. */
  late: Quantiles;
  /** Of the bare function, in ms from due to arrived. */
  bare: Quantiles;
};

/** `expected`: retries that were due in the cell. */
export function figuresOf(cell: Cell, expected: number, all: Results): CellFigures {
  const isOfCell = (retry: BareRetry): boolean => nameOf(retry.cell) === nameOf(cell);
  const retries = all.retries.filter(isOfCell);
  return {
    ...cell,
    retries: retries.length,
    undelivered: expected - retries.length,
    early: retries.filter(({ dueAt, startedAt, arrivedAt }) => Math.min(startedAt, arrivedAt) < dueAt).length,
    byOthers: retries.filter(({ by }) => by !== cell.by).length,
    late: quantilesOf(retries.map(({ startedAt, dueAt }) => startedAt - dueAt)),
    bare: quantilesOf(all.bare.filter(isOfCell).map(latenessOf)),
  };
}

function latenessOf({ arrivedAt, dueAt }: BareRetry): number {
  return arrivedAt - dueAt;
}

/** The p95 of lateness at the subscriber over all delays of a mechanism, by that of the bare function. */
export function p95ByBare(by: By, { retries, bare }: Results): number {
  const p95 = (all: readonly BareRetry[]): number =>
    quantile(all.filter(({ cell }) => cell.by === by).map(latenessOf), 0.95);
  return p95(retries) / p95(bare);
}

/** Retries that were early or lost (docs/concepts.md#guarantees). */
export function faultsOf({ cells }: { cells: readonly CellFigures[] }): readonly string[] {
  return cells.flatMap(({ by, delaySeconds, early, undelivered }) => [
    ...(early > 0 ? [`${early} retries by ${by} after ${delaySeconds} s began before they were due.`] : []),
    ...(undelivered > 0
      ? [`${undelivered} retries by ${by} after ${delaySeconds} s were not delivered.`]
      : []),
  ]);
}
