import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SeparateStack } from '../../examples/connect-event-sources/separate-stack.ts';
import { ShopStack } from '../../examples/connect-event-sources/shop-stack.ts';
import { parseSettings } from '../../infra/settings.ts';
import { arnOf, resourceAt, resourcesOf, testApp } from './templates.ts';

const RULE = 'AWS::Events::Rule';
const TOPIC = 'AWS::SNS::Topic';
const SUBSCRIPTION = 'AWS::SNS::Subscription';

const queuePolicy = z.object({
  Queues: z.array(z.unknown()),
  PolicyDocument: z.object({ Statement: z.array(z.unknown()) }),
});

/** The statements of all policies of a queue. */
const policyOf = (template: Template, queueId: string): unknown[] =>
  [...resourcesOf(template, 'AWS::SQS::QueuePolicy').values()]
    .map(({ Properties }) => queuePolicy.parse(Properties))
    .filter(({ Queues }) => JSON.stringify(Queues) === JSON.stringify([{ Ref: queueId }]))
    .flatMap(({ PolicyDocument }) => PolicyDocument.Statement);

const maySend = (service: string, actions: unknown, queue: unknown, source: unknown) =>
  expect.objectContaining({
    Effect: 'Allow',
    Action: actions,
    Principal: { Service: `${service}.amazonaws.com` },
    Resource: queue,
    Condition: { ArnEquals: { 'aws:SourceArn': source } },
  }) as unknown;

describe('the example of event sources in the same stack', () => {
  const template = Template.fromStack(new ShopStack(testApp(), 'Shop'));
  const ingress = resourceAt(template, 'AWS::SQS::Queue', 'WebhooksPipelineIngressQueue');
  const rule = resourceAt(template, RULE, 'EventsOrders');
  const topic = resourceAt(template, TOPIC, 'EventsPayments');
  const notSent = resourceAt(template, 'AWS::SQS::Queue', 'EventsNotSent');

  it('has a rule that sends events of the shop unchanged to the ingress queue', () => {
    expect(rule.Properties).toMatchObject({
      EventPattern: { source: ['com.example.shop'] },
      Targets: [{ Arn: arnOf(ingress.id), DeadLetterConfig: { Arn: arnOf(notSent.id) } }],
    });
    expect(JSON.stringify(rule.Properties)).not.toContain('Input');
  });

  it('subscribes the ingress queue to the topic, without raw delivery', () => {
    const [subscription] = resourcesOf(template, SUBSCRIPTION).values();
    expect(subscription?.Properties).toMatchObject({
      Protocol: 'sqs',
      Endpoint: arnOf(ingress.id),
      TopicArn: { Ref: topic.id },
      RedrivePolicy: { deadLetterTargetArn: arnOf(notSent.id) },
    });
    expect(subscription?.Properties).not.toHaveProperty('RawMessageDelivery');
  });

  it('allows only the rule and the topic to send to the ingress queue, over TLS', () => {
    const statements = policyOf(template, ingress.id);
    expect(statements).toHaveLength(3);
    expect(statements).toContainEqual(expect.objectContaining({ Effect: 'Deny' }));
    // CDK's grant for sending includes the first two.
    const sending = ['sqs:GetQueueAttributes', 'sqs:GetQueueUrl', 'sqs:SendMessage'];
    const queue = arnOf(ingress.id);
    expect(statements).toContainEqual(maySend('events', sending, queue, arnOf(rule.id)));
    expect(statements).toContainEqual(maySend('sns', 'sqs:SendMessage', queue, { Ref: topic.id }));
  });

  it('needs no KMS key, because both services can send to a queue with SQS-managed encryption', () => {
    expect(ingress.Properties).toMatchObject({ SqsManagedSseEnabled: true });
    expect(ingress.Properties).not.toHaveProperty('KmsMasterKeyId');
  });

  it('routes events by their source, and notifications by the name of the topic', () => {
    expect(topic.Properties).toMatchObject({ TopicName: 'shop-payments' });
    expect(
      resourceAt(template, 'AWS::Lambda::Function', 'WebhooksPipelineDispatchFunction').Properties,
    ).toMatchObject({
      Environment: {
        Variables: {
          INGRESS_ROUTES: JSON.stringify({ 'com.example.shop': 'orders', 'shop-payments': 'payments' }),
        },
      },
    });
  });
});

describe('the example of event sources in a separate stack', () => {
  const ingressQueueArn = 'arn:aws:sqs:eu-central-1:111122223333:PosthastePipeline-Ingress';
  const env = { account: '111122223333', region: 'eu-central-1' };
  const stack = new SeparateStack(testApp(), 'ShopApart', { ingressQueueArn, env });
  const template = Template.fromStack(stack);

  it('sends to the existing queue and leaves its policy unchanged', () => {
    template.hasResourceProperties(RULE, { Targets: [{ Arn: ingressQueueArn }] });
    template.hasResourceProperties(SUBSCRIPTION, { Protocol: 'sqs', Endpoint: ingressQueueArn });
    const policies = [...resourcesOf(template, 'AWS::SQS::QueuePolicy').values()];
    const notSent = resourceAt(template, 'AWS::SQS::Queue', 'EventsNotSent').id;
    expect(policies.map(({ Properties }) => queuePolicy.parse(Properties).Queues)).toEqual([
      [{ Ref: notSent }],
    ]);
  });

  it('outputs the value for the setting ingressSenders', () => {
    const { Value } = z
      .object({ IngressSenders: z.object({ Value: z.unknown() }) })
      .parse(template.findOutputs('IngressSenders')).IngressSenders;
    const text = JSON.stringify(Value);
    for (const id of [
      resourceAt(template, RULE, 'EventsOrders'),
      resourceAt(template, TOPIC, 'EventsPayments'),
    ])
      expect(text).toContain(id.id);
    // As CloudFormation resolves them: a rule on a custom event bus, and a topic.
    const ingressSenders =
      'arn:aws:events:eu-central-1:111122223333:rule/ShopApartEventsBus1/ShopApart-EventsOrders-1AB,arn:aws:sns:eu-central-1:111122223333:shop-payments';
    expect(parseSettings({ ingressSenders }).ingressSenders).toHaveLength(2);
  });
});
