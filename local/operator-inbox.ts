import { randomUUID } from 'node:crypto';
import { EventBridge } from '@aws-sdk/client-eventbridge';
import { SQS } from '@aws-sdk/client-sqs';
import {
  EVENT_SOURCE,
  operatorEventSchema,
  type OperatorEventMessage,
} from '../shared/wire/events/operator-event.ts';
import type { toClientOptions } from './endpoints.ts';
import { localAws } from './local-aws.ts';

export type OperatorInbox = Awaited<ReturnType<typeof openOperatorInbox>>;

/**
 * Creates a queue on the local AWS that receives a copy of all operator events from now on, by a rule on the deployment's
 * bus that targets it, as an operator would (docs/operations.md).
 */
export async function openOperatorInbox(client: ReturnType<typeof toClientOptions>, busName: string) {
  const [eventBridge, sqs] = [new EventBridge(client), new SQS(client)];
  const name = `operator-inbox-${randomUUID()}`;
  const rule = { Name: name, EventBusName: busName };
  const EventPattern = JSON.stringify({ source: [EVENT_SOURCE] });
  const { RuleArn } = await eventBridge.putRule({ ...rule, EventPattern });
  const queueArn = `arn:aws:sqs:${localAws.region}:${localAws.account}:${name}`;
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'events.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: queueArn,
    Condition: { ArnEquals: { 'aws:SourceArn': RuleArn } },
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { QueueUrl } = await sqs.createQueue({ QueueName: name, Attributes: { Policy } });
  const targets = { Rule: name, EventBusName: busName };
  await eventBridge.putTargets({ ...targets, Targets: [{ Id: INBOX, Arn: queueArn }] });
  /** Ends the connections. */
  const destroy = (): void => {
    eventBridge.destroy();
    sqs.destroy();
  };
  return {
    /** New events since the last call, in no particular order; waits up to `waitSeconds` for the first. */
    take: async (waitSeconds = 0): Promise<OperatorEventMessage[]> => {
      const { Messages = [] } = await sqs.receiveMessage({
        QueueUrl,
        WaitTimeSeconds: waitSeconds,
        MaxNumberOfMessages: 10,
      });
      const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      if (Entries.length > 0) await sqs.deleteMessageBatch({ QueueUrl, Entries });
      return Messages.map(({ Body = '' }) => operatorEventSchema.parse(JSON.parse(Body)));
    },
    close: async (): Promise<void> => {
      await eventBridge.removeTargets({ ...targets, Ids: [INBOX] });
      await eventBridge.deleteRule(rule);
      await sqs.deleteQueue({ QueueUrl });
      destroy();
    },
    destroy,
  };
}

const INBOX = 'inbox';
