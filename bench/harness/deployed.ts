import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Settings } from '../../local/cached-builds.ts';
import { type Endpoints, toClientOptions } from '../../local/endpoints.ts';
import { startLocalSystem } from '../../local/local-system.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';

/** Amazon SQS: messages in a batch. */
const MAX_IN_BATCH = 10;

/** The deployed system on a separate local AWS. */
export type Deployed = {
  endpoints: Endpoints;
  /** The process of the local AWS (local/emulator.ts). */
  pid: number;
  makeQueue: (queue: string, policy: PartialRetryPolicy) => Promise<void>;
  subscribe: (queue: string, subscriber: string, options?: Record<string, unknown>) => Promise<void>;
  publish: (bodies: readonly string[]) => Promise<void>;
};

export type DeployedOptions = {
  /** For logs, outputs and temporary files (test/support/run-folder.ts). */
  folder: string;
  /** `apiAuthorization` is `none`. */
  settings: Settings;
  /** A file for the calls of the functions (test/support/call-log.ts). @default none */
  callLog?: string;
  signal: AbortSignal;
};

/** Ends with the stack. @throws Problem when it cannot be started */
export async function startDeployed(
  stack: AsyncDisposableStack,
  { folder, settings, callLog, signal }: DeployedOptions,
): Promise<Deployed> {
  const { emulator, endpoints } = await startLocalSystem({
    folder,
    settings: { ...settings, apiAuthorization: 'none' },
    ...(callLog === undefined ? {} : { callLog }),
    signal,
  });
  stack.defer(() => emulator.stop());
  const sqs = new SQSClient(toClientOptions(endpoints));
  const call = async (method: string, path: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const url = `${endpoints.apiUrl}${path}`;
    const response = await fetch(url, { method, headers, body: JSON.stringify(body), signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  };
  return {
    endpoints,
    pid: emulator.pid,
    makeQueue: (queue, policy) => call('PUT', `/v2/queues/${queue}`, { _retry_policy: policy }),
    subscribe: (queue, subscriber, options = {}) =>
      call('POST', `/v2/queues/${queue}/subscriptions`, { subscriber, options }),
    publish: async (bodies) => {
      for (let start = 0; start < bodies.length; start += MAX_IN_BATCH) {
        const Entries = bodies
          .slice(start, start + MAX_IN_BATCH)
          .map((MessageBody, index) => ({ Id: String(index), MessageBody }));
        const command = new SendMessageBatchCommand({ QueueUrl: endpoints.ingressQueueUrl, Entries });
        const { Failed = [] } = await sqs.send(command);
        if (Failed.length > 0) throw new Error(`SQS refused ${Failed.length} messages.`);
      }
    },
  };
}
