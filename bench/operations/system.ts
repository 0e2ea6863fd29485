import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { join } from 'node:path';
import { readCallLog, type CallLogEntry } from '../../local/call-log.ts';
import { clientOf, type Endpoints } from '../../local/endpoints.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { startReceiver, type Receiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { THRESHOLD_SECONDS } from './paths.ts';

/** Lists of subscriptions are read for every message: what a cache saves depends on the traffic. */
export const settings = {
  apiAuthorization: 'none',
  subscriptionCacheSeconds: '0',
  schedulerThreshold: String(THRESHOLD_SECONDS),
};

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
export async function startSystem(stack: AsyncDisposableStack, signal: AbortSignal): Promise<System> {
  const folder = runFolder('operations');
  const callLog = join(folder, 'calls.jsonl');
  const { endpoints, makeQueue, subscribe, publish } = await startDeployed(stack, {
    folder,
    settings,
    callLog,
    signal,
  });
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const lambda = new LambdaClient(clientOf(endpoints));
  return {
    endpoints,
    receiver,
    signal,
    log: () => readCallLog(callLog),
    makeQueue,
    subscribe: (queue, path, options) => subscribe(queue, receiver.url(path), options),
    publish,
    reconcile: async () => {
      await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile }));
    },
  };
}
