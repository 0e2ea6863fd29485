import { randomUUID } from 'node:crypto';
import {
  DeleteRuleCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
  type EventBridgeClient,
} from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { z } from 'zod';
import {
  EVENT_SOURCE,
  operatorEventSchema,
  type OperatorEventMessage,
} from '../shared/wire/events/operator-event.ts';

export type OperatorInbox = Awaited<ReturnType<typeof openOperatorInbox>>;

/**
 * Creates a queue that receives a copy of all operator events from now on, by a rule on the deployment's bus that targets
 * it, as an operator would (docs/operations.md).
 */
export async function openOperatorInbox(
  { eventBridge, sqs }: { eventBridge: EventBridgeClient; sqs: SQSClient },
  busName: string,
) {
  const name = `operator-inbox-${randomUUID()}`;
  const rule = { Name: name, EventBusName: busName };
  const { QueueUrl } = queueSchema.parse(await sqs.send(new CreateQueueCommand({ QueueName: name })));
  const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
  const { QueueArn: queueArn } = arnSchema.parse(await sqs.send(asked)).Attributes;
  const { RuleArn } = await eventBridge.send(
    new PutRuleCommand({ ...rule, EventPattern: JSON.stringify({ source: [EVENT_SOURCE] }) }),
  );
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'events.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: queueArn,
    Condition: { ArnEquals: { 'aws:SourceArn': RuleArn } },
  };
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy: policy } }));
  const targets = { Rule: name, EventBusName: busName };
  await eventBridge.send(new PutTargetsCommand({ ...targets, Targets: [{ Id: INBOX, Arn: queueArn }] }));
  return {
    /** New events since the last call, in no particular order; waits up to `waitSeconds` for the first. */
    take: (waitSeconds = 0): Promise<OperatorEventMessage[]> => receiveEvents(sqs, QueueUrl, waitSeconds),
    close: async (): Promise<void> => {
      await eventBridge.send(new RemoveTargetsCommand({ ...targets, Ids: [INBOX] }));
      await eventBridge.send(new DeleteRuleCommand(rule));
      await sqs.send(new DeleteQueueCommand({ QueueUrl }));
    },
  };
}

const INBOX = 'inbox';

const queueSchema = z.object({ QueueUrl: z.string() });

const arnSchema = z.object({ Attributes: z.object({ QueueArn: z.string() }) });

async function receiveEvents(
  sqs: SQSClient,
  QueueUrl: string,
  WaitTimeSeconds: number,
): Promise<OperatorEventMessage[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds, MaxNumberOfMessages: 10 }),
  );
  const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  return Messages.map(({ Body = '' }) => operatorEventSchema.parse(JSON.parse(Body)));
}
