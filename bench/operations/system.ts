import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readCallLog, type CallLogEntry } from '../../cli/local/call-log.ts';
import type { Endpoints } from '../../cli/local/endpoints.ts';
import { isRunning } from '../../cli/local/install/lock.mjs';
import { localFolder } from '../../cli/local/install/paths.mjs';
import { localAws } from '../../cli/local/local-aws.ts';
import { startLocalSystem } from '../../cli/local/local-system.ts';
import { sqsClient } from '../../shared/adapters/aws-clients.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry-policy.ts';
import { startReceiver, type Receiver } from '../../test/support/receiver.ts';
import { THRESHOLD_SECONDS } from './paths.ts';

/** Lists of subscriptions are read for every message: what a cache saves depends on the traffic. */
export const settings = {
  apiAuthorization: 'none',
  subscriptionCacheSeconds: '0',
  schedulerThreshold: String(THRESHOLD_SECONDS),
};

/** Amazon SQS: messages in a batch. */
const MOST_IN_BATCH = 10;

const FOLDER = 'operations-';

export type System = {
  endpoints: Endpoints;
  receiver: Receiver;
  signal: AbortSignal;
  /** All that was asked since the start. */
  log: () => CallLogEntry[];
  makeQueue: (queue: string, policy: PartialRetryPolicy) => Promise<void>;
  subscribe: (queue: string, path: string, options?: Record<string, unknown>) => Promise<void>;
  publish: (bodies: readonly string[]) => Promise<void>;
  reconcile: () => Promise<void>;
};

/** The deployed system on a local AWS of its own, and a receiver; both end with the stack. */
export const startSystem = async (stack: AsyncDisposableStack, signal: AbortSignal): Promise<System> => {
  forgetEarlierRuns();
  const folder = join(localFolder, `${FOLDER}${process.pid}`);
  const callLog = join(folder, 'calls.jsonl');
  const { emulator, endpoints } = await startLocalSystem({ folder, settings, callLog, signal });
  stack.defer(() => emulator.stop());
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const { region, credentials } = localAws;
  const client = { endpoint: endpoints.endpoint, region, credentials };
  const [sqs, lambda] = [sqsClient(client), new LambdaClient(client)];
  const call = async (method: string, path: string, body: unknown): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' };
    const url = `${endpoints.apiUrl}${path}`;
    const response = await fetch(url, { method, headers, body: JSON.stringify(body), signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    endpoints,
    receiver,
    signal,
    log: () => readCallLog(callLog),
    makeQueue: async (queue, policy) => {
      await call('PUT', `/v2/queues/${queue}`, { _retry_policy: policy });
    },
    subscribe: async (queue, path, options = {}) => {
      const subscriber = receiver.url(path);
      z.object({ subscription_id: z.string() }).parse(
        await call('POST', `/v2/queues/${queue}/subscriptions`, { subscriber, options }),
      );
    },
    publish: async (bodies) => {
      for (let start = 0; start < bodies.length; start += MOST_IN_BATCH) {
        const Entries = bodies
          .slice(start, start + MOST_IN_BATCH)
          .map((MessageBody, index) => ({ Id: String(index), MessageBody }));
        const command = new SendMessageBatchCommand({ QueueUrl: endpoints.ingressQueueUrl, Entries });
        const { Failed = [] } = await sqs.send(command);
        if (Failed.length > 0) throw new Error(`SQS refused ${Failed.length} messages.`);
      }
    },
    reconcile: async () => {
      await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile }));
    },
  };
};

const forgetEarlierRuns = (): void => {
  mkdirSync(localFolder, { recursive: true });
  for (const name of readdirSync(localFolder)) {
    if (name.startsWith(FOLDER) && !isRunning(Number(name.slice(FOLDER.length))))
      rmSync(join(localFolder, name), { recursive: true, force: true });
  }
};
