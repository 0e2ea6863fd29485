import {
  GetFunctionConfigurationCommand,
  InvokeCommand,
  LambdaClient,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { clientOf, type Endpoints } from '../../local/endpoints.ts';
import { dynamoClient } from '../../shared/adapters/dynamodb/client.ts';
import { sqsClient } from '../../shared/adapters/sqs/client.ts';
import { pathOf, policyOf, QUEUES } from './subscribers.ts';

/** The system under test, as its account's root sees it: past the faults. */
export const systemAt = (endpoints: Endpoints) => {
  const client = clientOf(endpoints);
  return {
    endpoints,
    sqs: sqsClient(client),
    lambda: new LambdaClient(client),
    dynamo: dynamoClient(client),
  };
};

export type System = ReturnType<typeof systemAt>;

/** Has the functions of the pipeline call AWS by way of `proxy`; the queues' addresses among their settings included. */
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
  }
};

/** A subscription, by the address that it was made for. */
export type Listener = { queue: string; path: string; subscriptionId: string };

/** Makes the queues and their subscriptions through the API. */
export const subscribeAll = async (
  { endpoints }: System,
  urlOf: (path: string) => string,
): Promise<Listener[]> => {
  const call = async (method: string, path: string, body: unknown): Promise<string> => {
    const response = await fetch(`${endpoints.apiUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text;
  };
  const listeners: Listener[] = [];
  for (const { queue, kinds } of QUEUES) {
    await call('PUT', `/v2/queues/${queue}`, {});
    for (const kind of kinds) {
      const path = pathOf(queue, kind);
      const options = { _retry_policy: policyOf(kind) };
      const answer = await call('POST', `/v2/queues/${queue}/subscriptions`, {
        subscriber: urlOf(path),
        options,
      });
      const { subscription_id } = z.object({ subscription_id: z.string() }).parse(JSON.parse(answer));
      listeners.push({ queue, path, subscriptionId: subscription_id });
    }
  }
  return listeners;
};

/** Runs reconcile once. The faults make it fail now and then, as they may; the next run goes on. */
export const reconcileOnce = async ({ lambda, endpoints }: System): Promise<void> => {
  await lambda.send(new InvokeCommand({ FunctionName: endpoints.functions.reconcile }));
};

/** Messages of a queue in any state. */
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
