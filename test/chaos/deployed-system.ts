import assert from 'node:assert/strict';
import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  PublishVersionCommand,
  UpdateAliasCommand,
  UpdateFunctionConfigurationCommand,
  waitUntilFunctionUpdatedV2,
} from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { type Endpoints, toClientOptions } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { pathOf, policyOf, QUEUES } from './subscribers.ts';

/** Clients for the system under test that bypass the fault proxy. */
export const systemAt = (endpoints: Endpoints) => {
  const client = toClientOptions(endpoints);
  return {
    endpoints,
    sqs: sqsClient(client),
    lambda: new LambdaClient(client),
    dynamo: dynamoClient(client),
  };
};

export type System = ReturnType<typeof systemAt>;

/** The alias that queues and the timer invoke. */
const live = 'live';

/** Makes the functions of the pipeline call AWS through `proxy`. Queue URLs in their settings change too. */
export const callBy = async ({ lambda, endpoints }: System, proxy: string): Promise<void> => {
  const { dispatch, deliver, reconcile } = endpoints.functions;
  for (const FunctionName of [dispatch, deliver, reconcile]) {
    const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const variables = Object.entries(Environment?.Variables ?? {}).map(([name, value]) => [
      name,
      value.replaceAll(endpoints.endpoint, proxy),
    ]);
    const Variables = z.record(z.string(), z.string()).parse(Object.fromEntries(variables));
    await lambda.send(
      new UpdateFunctionConfigurationCommand({
        FunctionName,
        Environment: { Variables: { ...Variables, AWS_ENDPOINT_URL: proxy } },
      }),
    );
    await waitUntilFunctionUpdatedV2({ client: lambda, maxWaitTime: 60 }, { FunctionName });
    const { Version: FunctionVersion } = await lambda.send(new PublishVersionCommand({ FunctionName }));
    await lambda.send(new UpdateAliasCommand({ FunctionName, Name: live, FunctionVersion }));
  }
};

/** A subscription with the path of its subscriber. */
export type Listener = { queue: string; path: string; subscriptionId: string };

/** Calls an API without authorisation; the answer as JSON. @throws AssertionError if it refuses */
export const callerOf =
  ({ apiUrl }: Endpoints) =>
  async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };

/** Creates the queues and subscriptions through the API. */
export const subscribeAll = async (
  { endpoints }: System,
  urlOf: (path: string) => string,
): Promise<Listener[]> => {
  const call = callerOf(endpoints);
  const listeners: Listener[] = [];
  for (const { queue, kinds } of QUEUES) {
    await call('PUT', `/v2/queues/${queue}`, {});
    for (const kind of kinds) {
      const path = pathOf(queue, kind);
      const subscription = { subscriber: urlOf(path), options: { _retry_policy: policyOf(kind) } };
      const answer = await call('POST', `/v2/queues/${queue}/subscriptions`, subscription);
      const { subscription_id } = z.object({ subscription_id: z.string() }).parse(answer);
      listeners.push({ queue, path, subscriptionId: subscription_id });
    }
  }
  return listeners;
};

/** Invokes reconcile once. Faults may make it fail; the next run continues. */
export const reconcileOnce = async ({ lambda, endpoints }: System): Promise<void> => {
  await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile, Qualifier: live }));
};

/** The number of messages on an SQS queue in any state. */
export const messagesOn = async ({ sqs }: System, queueUrl: string): Promise<number> => {
  const names = [
    'ApproximateNumberOfMessages',
    'ApproximateNumberOfMessagesNotVisible',
    'ApproximateNumberOfMessagesDelayed',
  ] as const;
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: [...names] }),
  );
  return names.reduce((sum, name) => sum + Number(Attributes?.[name] ?? 0), 0);
};
