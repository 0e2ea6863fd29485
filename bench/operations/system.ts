import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { join } from 'node:path';
import { readCallLog } from '../../local/call-log.ts';
import { clientOf } from '../../local/endpoints.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { runFolder } from '../../test/support/run-folder.ts';
import { startDeployed } from '../harness/deployed.ts';
import { THRESHOLD_SECONDS } from './paths.ts';

/** Lists of subscriptions are read for every message: what a cache saves depends on the traffic. */
export const settings = {
  apiAuthorization: 'none',
  subscriptionCacheSeconds: '0',
  schedulerThreshold: String(THRESHOLD_SECONDS),
};

export type System = Awaited<ReturnType<typeof startSystem>>;

/** The deployed system on a local AWS of its own, and a receiver; both end with the stack. */
export async function startSystem(stack: AsyncDisposableStack, signal: AbortSignal) {
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
    /** All that was asked since the start. */
    log: () => readCallLog(callLog),
    makeQueue,
    subscribe: (queue: string, path: string, options?: Record<string, unknown>) =>
      subscribe(queue, receiver.url(path), options),
    publish,
    reconcile: async (): Promise<void> => {
      await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile }));
    },
  };
}
