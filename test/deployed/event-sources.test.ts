import { randomUUID } from 'node:crypto';
import {
  EventBridgeClient,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  CreateTopicCommand,
  PublishCommand,
  SNSClient,
  SubscribeCommand,
  type PublishCommandInput,
} from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { putQueue, subscribe } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventSources } from '../support/event-sources.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';

const { raw, rule, shopQueue, shopSource, wrapped } = eventSources;
const events = new EventBridgeClient(deployment.client);
const sns = new SNSClient(deployment.client);

const receiver = await receiverOfTests();
const { Attributes } = await deployment.sqs.send(
  new GetQueueAttributesCommand({
    QueueUrl: deployment.endpoints.ingressQueueUrl,
    AttributeNames: ['QueueArn'],
  }),
);
const ingressArn = Attributes?.QueueArn;

const subscribed = async (queue: string): Promise<string> => {
  await putQueue(queue);
  await subscribe(queue, receiver.url(`/${queue}`));
  return queue;
};

const webhook = z.object({
  id: z.string(),
  queue: z.string(),
  type: z.string().optional(),
  timestamp: z.string(),
  data: z.unknown(),
});

/** Waits for the first webhook of a queue. */
const delivered = async (queue: string) => {
  const [request] = await receiver.waitFor(`/${queue}`, 1);
  return webhook.parse(JSON.parse(request?.body.toString() ?? ''));
};

describe('an event from EventBridge', () => {
  it('arrives through a rule and is routed by its source', async () => {
    await subscribed(shopQueue);
    const pattern = JSON.stringify({ source: [shopSource] });
    await events.send(new PutRuleCommand({ Name: rule.name, EventPattern: pattern }));
    await events.send(
      new PutTargetsCommand({ Rule: rule.name, Targets: [{ Id: 'ingress', Arn: ingressArn }] }),
    );
    const Entries = [
      { Source: shopSource, DetailType: 'Order Created', Detail: '{"total":1250,"items":[{"n":1}]}' },
    ];
    const { Entries: [entry] = [] } = await events.send(new PutEventsCommand({ Entries }));

    expect(await delivered(shopQueue)).toMatchObject({
      id: entry?.EventId,
      queue: shopQueue,
      type: 'Order Created',
      data: { total: 1250, items: [{ n: 1 }] },
    });
  });
});

describe('a message from an SNS topic', () => {
  const published = async (
    { name, isRaw }: { name: string; isRaw: boolean },
    message: Omit<PublishCommandInput, 'TopicArn' | 'MessageAttributes'>,
  ): Promise<{ queue: string; MessageId: string | undefined }> => {
    const queue = await subscribed(`${name}-${randomUUID()}`);
    const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: name }));
    await sns.send(
      new SubscribeCommand({
        TopicArn,
        Protocol: 'sqs',
        Endpoint: ingressArn,
        Attributes: { RawMessageDelivery: String(isRaw) },
      }),
    );
    const MessageAttributes = { queue: { DataType: 'String', StringValue: queue } };
    const { MessageId } = await sns.send(new PublishCommand({ TopicArn, MessageAttributes, ...message }));
    return { queue, MessageId };
  };

  it('arrives wrapped, with the subject as its type and the SNS message id', async () => {
    const message = { Message: '{"total": 1250}', Subject: 'payment.made' };
    const { queue, MessageId } = await published({ name: wrapped.name, isRaw: false }, message);

    expect(await delivered(queue)).toMatchObject({
      id: MessageId,
      type: 'payment.made',
      data: { total: 1250 },
    });
  });

  it('arrives raw, with its attributes as SQS message attributes', async () => {
    const id = randomUUID();
    const message = { Message: JSON.stringify({ id, type: 'payment.made', data: [1, 2] }) };
    const { queue } = await published({ name: raw.name, isRaw: true }, message);

    expect(await delivered(queue)).toMatchObject({ id, type: 'payment.made', data: [1, 2] });
  });
});
