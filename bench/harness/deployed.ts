import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { Settings } from '../../local/cached-builds.ts';
import { type Endpoints, toClientOptions } from '../../local/endpoints.ts';
import { startLocalSystem } from '../../local/local-system.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { loggingLauncher } from '../../test/support/logging-launcher.ts';

/** Amazon SQS: messages in a batch. */
const MAX_IN_BATCH = 10;

/** The deployed system on a separate local AWS. */
export type Deployed = {
  endpoints: Endpoints;
  /** The process of the local AWS (local/emulator.ts). */
  pid: number;
  /** A request to the API. Returns the JSON of its answer. @throws Error if it is refused */
  request: (method: string, path: string, body?: unknown) => Promise<unknown>;
  makeQueue: (queue: string, policy: PartialRetryPolicy) => Promise<void>;
  /** Returns the id of the subscription. */
  subscribe: (queue: string, subscriber: string, options?: Record<string, unknown>) => Promise<string>;
  publish: (bodies: readonly string[]) => Promise<void>;
};

export type DeployedOptions = {
  /** For logs, outputs and temporary files (test/support/run-folder.ts). */
  folder: string;
  /** `apiAuthorization` is `none`. */
  settings: Settings;
  /** A file for the calls of the functions (test/support/call-log.ts). @default none */
  callLog?: string | undefined;
  signal: AbortSignal;
};

const subscribed = z.object({ subscription_id: z.string() });

/** Ends with the stack. @throws Problem when it cannot be started */
export async function startDeployed(
  stack: AsyncDisposableStack,
  { folder, settings, callLog, signal }: DeployedOptions,
): Promise<Deployed> {
  const { emulator, endpoints } = await startLocalSystem({
    folder,
    settings: { ...settings, apiAuthorization: 'none' },
    launcher: loggingLauncher({ callLog }),
    signal,
  });
  stack.defer(() => emulator.stop());
  const sqs = new SQSClient(toClientOptions(endpoints));
  const request = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const url = `${endpoints.apiUrl}${path}`;
    const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(url, { method, signal, ...(body === undefined ? {} : json) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    endpoints,
    pid: emulator.pid,
    request,
    makeQueue: async (queue, policy) => {
      await request('PUT', `/v2/queues/${queue}`, { _retry_policy: policy });
    },
    subscribe: async (queue, subscriber, options = {}) => {
      const body = await request('POST', `/v2/queues/${queue}/subscriptions`, { subscriber, options });
      return subscribed.parse(body).subscription_id;
    },
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
