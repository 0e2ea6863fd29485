import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { ApiMapping, DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AccountPrincipal,
  AnyPrincipal,
  ArnPrincipal,
  type IGrantable,
  Role,
  ServicePrincipal,
  StarPrincipal,
} from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { SeparateStack } from '../../examples/connect-event-sources/separate-stack.ts';
import { ShopStack } from '../../examples/connect-event-sources/shop-stack.ts';
import { AcceptanceStack } from '../../infra/acceptance-stack.ts';
import { requireCdk } from '../../infra/cdk-version.ts';
import { createStacks } from '../../infra/deployment.ts';
import { parseSettings } from '../../infra/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { alarmsIn } from '../support/monitored.ts';
import {
  arnOf,
  environmentAt,
  outputsOf,
  queuePoliciesIn,
  queueStatementsOf,
  resourceAt,
  resourcesOf,
  statementsAt,
  templatesFor,
  testApp,
  TOKENS,
} from './templates.ts';
import { Pipeline } from '../../infra/constructs/pipeline.ts';
import { Posthaste } from '../../infra/constructs/posthaste.ts';
import { State } from '../../infra/constructs/state/state.ts';

const { state, pipeline, monitoring } = templatesFor();

const outputNames = (...templates: Template[]): string[] =>
  [...new Set(templates.flatMap((one) => outputsOf(one).map(([name]) => name)))].toSorted();

const PIPELINE_OUTPUTS = `ApiAuthorization ApiFunction ApiId ApiUrl DeliverFunction DeliveriesTable
  DeliveryDeadLetterUrl DeliveryQueueUrl DispatchFunction IngressDeadLetterUrl IngressQueueUrl OperateFunction
  OperationDeadLetterUrl OperationQueueUrl OperatorEventBus PosthasteDeployment ReconcileFunction RetryQueueUrl
  ScheduleGroup SchedulerDeadLetterUrl SecretsFunction SubscriptionsTable UndeliverableQueueUrl WorkerEnvironment`;

it('the app runs on the Node.js from its packages, also under a globally installed CDK CLI', () => {
  const PATH = (process.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':');
  const command = cdkJson.app.replace('infra/app.ts', '--version');
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const version = execFileSync('sh', ['-c', command], {
    cwd,
    env: { ...process.env, PATH },
    encoding: 'utf8',
  });
  expect(version.trim()).toBe(`v${packageJson.dependencies.node}`);
});

describe('the stacks', () => {
  it('are named after the deployment, and the state and the pipeline are protected against deletion, but not locally', () => {
    const stacksWith = (settings: object) =>
      Object.values(createStacks(testApp(), { deployment: 'Other', ...settings })).map(
        ({ stackName, terminationProtection }) => [stackName, terminationProtection],
      );
    const stacks = (kept: boolean) => [
      ['OtherState', kept],
      ['OtherPipeline', kept],
      ['OtherMonitoring', false],
    ];
    expect(stacksWith({})).toEqual(stacks(true));
    expect(stacksWith({ local: true })).toEqual(stacks(false));
  });

  it('can replace resources that the monitoring stack watches', () => {
    const text = JSON.stringify(monitoring.toJSON());
    expect(text).toContain('Fn::GetStackOutput');
    expect(text).not.toContain('Fn::ImportValue');
  });

  it('have these outputs', () => {
    expect(outputNames(state).join(' ')).toBe(
      'DeliveriesTable PayloadBucket SecretsKeyArn SubscriptionsTable',
    );
    expect(outputNames(pipeline)).toEqual(PIPELINE_OUTPUTS.split(/\s+/));
  });
});

const stack = new Stack(testApp(), 'Shop');
const alarmTopic = new Topic(stack, 'OnCall');
const posthaste = new Posthaste(stack, 'Webhooks', { deployment: 'Shop', alarmTopic });

const grantee = (id: string) => new Role(stack, id, { assumedBy: new AccountPrincipal('123456789012') });
posthaste.grantPublish(grantee('Producer'));
posthaste.grantAdminister(grantee('Operator'));
posthaste.grantAdminister(grantee('Tenant'), { queues: ['orders', 'bills'] });
posthaste.grantAdminister(grantee('Exporter'), { queues: ['orders'], exportCredentials: true });
posthaste.grantAdminister(grantee('ExporterOfAll'), { exportCredentials: true });

const template = Template.fromStack(stack);
const idOf = (type: string, path: string): string => resourceAt(template, type, path).id;
const ingress = idOf('AWS::SQS::Queue', 'WebhooksPipelineIngressQueue');
const api = idOf('AWS::ApiGatewayV2::Api', 'WebhooksPipelineAdministrationHttpApi');

/** The routes that a role may call, without the ARN of the API, in CDK's order. */
const routesOf = (role: string): string[] => {
  const [statement, ...others] = statementsAt(template, `${role}DefaultPolicy`);
  expect(others).toEqual([]);
  expect(statement).toMatchObject({ effect: 'Allow', actions: ['execute-api:Invoke'] });
  return (statement?.resources ?? []).map((resource) => {
    const text = JSON.stringify(resource);
    expect(text).toContain(`{"Ref":"${api}"},"/$default/`);
    return text.replace(/^.*"\/\$default\/(.*)"\]\]\}$/, '$1');
  });
};

describe('Posthaste in a stack of another app', () => {
  it('has the same resources as the three stacks, with tables that are retained', () => {
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 2);
    template.resourceCountIs('AWS::Lambda::Function', 6);
    template.resourceCountIs('AWS::KMS::Key', 1);
    template.resourceCountIs('AWS::SQS::Queue', 9);
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
    template.allResources('AWS::DynamoDB::GlobalTable', { DeletionPolicy: 'Retain' });
  });

  it('offers its queue, API, table and event bus', () => {
    const { ingressQueue, deliveriesTable, operatorEvents } = posthaste;
    expect(stack.resolve(ingressQueue.queueUrl)).toEqual({ Ref: ingress });
    expect(stack.resolve(posthaste.api.apiId)).toEqual({ Ref: api });
    expect(stack.resolve(deliveriesTable.tableArn)).toEqual(
      arnOf(idOf('AWS::DynamoDB::GlobalTable', 'WebhooksStateDeliveriesTable')),
    );
    expect(stack.resolve(operatorEvents.eventBusArn)).toEqual(
      arnOf(idOf('AWS::Events::EventBus', 'WebhooksPipelineOperatorEventsBus')),
    );
  });

  it('can get a custom domain for its API, whose default stage is the one with limits and an access log', () => {
    const shop = new Stack(testApp(), 'Shop');
    const { api } = new Posthaste(shop, 'Webhooks');
    const arn = 'arn:aws:acm:us-east-1:123456789012:certificate/1';
    const certificate = Certificate.fromCertificateArn(shop, 'Certificate', arn);
    const domainName = new DomainName(shop, 'Domain', { domainName: 'hooks.example.com', certificate });
    new ApiMapping(shop, 'Mapping', { api, domainName });
    const template = Template.fromStack(shop);
    const [stage, ...others] = resourcesOf(template, 'AWS::ApiGatewayV2::Stage').keys();
    expect(others).toEqual([]);
    template.hasResource('AWS::ApiGatewayV2::ApiMapping', {
      Properties: { Stage: '$default' },
      DependsOn: [stage],
    });
  });

  it('has the outputs of the three stacks, among them one with the name of the deployment', () => {
    const outputs = z.record(z.string(), z.object({ Value: z.unknown() })).parse(template.findOutputs('*'));
    const shortened = Object.keys(outputs).map((key) => /^Webhooks(\w+)[0-9A-F]{8}$/.exec(key)?.[1] ?? key);
    expect(shortened.toSorted()).toEqual(outputNames(state, pipeline));
    expect(Object.entries(outputs).filter(([, { Value }]) => Value === 'Shop')).toEqual([
      [expect.stringMatching(/PosthasteDeployment[0-9A-F]{8}$/), expect.anything()],
    ]);
  });

  it('has all outputs as parts in one stack, where a second deployment, which would have none, is refused', () => {
    const shop = new Stack(testApp(), 'Shop');
    new Pipeline(shop, 'Pipeline', { state: new State(shop, 'State') });
    expect(outputNames(Template.fromStack(shop))).toEqual(outputNames(state, pipeline));
    expect(() => new State(shop, 'Second', { deployment: 'Second' })).toThrow(
      'Shop has SubscriptionsTable already, which is an output of Posthaste',
    );
  });

  it('does not leave its outputs to others of the same name', () => {
    const shop = new Stack(testApp(), 'Shop');
    new CfnOutput(shop, 'ApiUrl', { value: 'https://shop.example.com' });
    const state = new State(shop, 'State');
    expect(() => new Pipeline(shop, 'Pipeline', { state })).toThrow('Shop has ApiUrl already');
  });

  it('notifies a topic of the app, which exists before the alarms, so that nothing looks it up', () => {
    const actions = alarmsIn(template.toJSON()['Resources']).flatMap((alarm) => alarm.actions);
    expect(actions.length).toBeGreaterThan(20);
    expect(new Set(actions.map((action) => JSON.stringify(action)))).toEqual(
      new Set([JSON.stringify({ Ref: idOf('AWS::SNS::Topic', 'OnCall') })]),
    );
    expect(resourcesOf(template, 'Custom::AlarmTopicLookUp').size).toBe(0);
  });
});

const SNS = new ServicePrincipal('sns.amazonaws.com');

it('grantPublish allows sending to the ingress queue, and nothing else', () => {
  expect(statementsAt(template, 'ProducerDefaultPolicy')).toEqual([
    { effect: 'Allow', actions: ['sqs:SendMessage'], resources: [arnOf(ingress)], condition: undefined },
  ]);
});

it('the role of a producer in the stack of the acceptance has the same grant', () => {
  const ingressQueueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/Ingress';
  const env = { account: '123456789012', region: 'eu-west-1' };
  const acceptance = Template.fromStack(new AcceptanceStack(testApp(), 'Shop', { ingressQueueUrl, env }));
  const [statement, ...others] = statementsAt(acceptance, 'ProducerDefaultPolicy');
  expect(others).toEqual([]);
  expect(statement).toMatchObject({ effect: 'Allow', actions: ['sqs:SendMessage'] });
  expect(JSON.stringify(statement?.resources)).toContain('sqs:eu-west-1:123456789012:Ingress');
});

describe('grantPublish of another stack', () => {
  it('opens the ingress queue to one account, or to a service on behalf of named sources', () => {
    const shop = new Posthaste(new Stack(testApp(), 'Shop'), 'Webhooks');
    const topic = 'arn:aws:sns:eu-west-1:123456789012:orders';
    shop.grantPublish(new AccountPrincipal('210987654321'));
    shop.grantPublish(SNS.withConditions({ ArnEquals: { 'aws:SourceArn': topic } }));
    const policies = JSON.stringify(queuePoliciesIn(Template.fromStack(Stack.of(shop))));
    for (const allowed of ['210987654321', topic]) expect(policies).toContain(allowed);
  });

  it.each<[string, IGrantable]>([
    ['a service for all of its customers', SNS],
    ['everyone', new AnyPrincipal()],
    ['everyone, spelt otherwise', new ArnPrincipal('*')],
    ['everyone, as a star', new StarPrincipal()],
  ])('does not open it to %s', (_who, grantee) => {
    const shop = new Posthaste(new Stack(testApp(), 'Shop'), 'Webhooks');
    expect(() => shop.grantPublish(grantee)).toThrow('needs a condition');
  });
});

describe('grantAdminister', () => {
  it('allows every route except the export of credentials', () => {
    expect(routesOf('Operator')).toEqual([
      'DELETE/v2/event-types/*',
      'DELETE/v2/queues/*',
      'GET/',
      'GET/v2',
      'GET/v2/*',
      'PATCH/v2/queues/*',
      'POST/v2/queues/*',
      'PUT/v2/event-types/*',
      'PUT/v2/queues/*',
    ]);
  });

  it('allows single queues as docs/api.md says, with each method named', () => {
    const routes = (queue: string) =>
      ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'].flatMap((method) => [
        `${method}/v2/queues/${queue}`,
        `${method}/v2/queues/${queue}/*`,
      ]);
    expect(routesOf('Tenant')).toEqual([...routes('orders'), ...routes('bills')].toSorted());
    expect(routesOf('Exporter')).toEqual([...routes('orders'), 'POST/v2/credentials/orders'].toSorted());
  });

  it('allows many queues by several policies, each within the size that IAM takes', () => {
    const shop = new Stack(testApp(), 'Shop');
    const team = new Role(shop, 'Team', { assumedBy: new AccountPrincipal('1') });
    const queues = Array.from({ length: 30 }, (_, index) => `team-orders-${index}`);
    new Posthaste(shop, 'Webhooks').grantAdminister(team, { queues });
    const template = Template.fromStack(shop);
    const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
      .flatMap((type) => [...resourcesOf(template, type)])
      .filter(([id]) => id.startsWith('Team'))
      .map(([, policy]) => JSON.stringify(policy.Properties['PolicyDocument']));
    for (const queue of queues)
      expect(policies.filter((text) => text.includes(`PATCH/v2/queues/${queue}/*`))).toHaveLength(1);
    // Each ARN has about 100 characters. IAM takes 10,240 in a role, and 6,144 in a managed policy.
    expect(Math.max(...policies.map((text) => text.split('/$default/').length - 1))).toBeLessThanOrEqual(60);
  });

  it('allows exporting the credentials of all queues only if asked to', () => {
    expect(routesOf('ExporterOfAll')).toEqual([...routesOf('Operator'), 'POST/v2/credentials/*'].toSorted());
  });

  it.each<[options: object, problem: string]>([
    [{ queues: ['orders', '*'] }, "queues ('*') must be names of queues"],
    [{ queues: [null] }, 'queues (null) must be names of queues'],
    [{ queues: [] }, 'queues ([]) must have a name; leave it out for all queues'],
    [{ queues: 'orders' }, "queues ('orders') must have a name"],
    [{ queue: ['orders'] }, 'queue is not an option of grantAdminister'],
  ])('refuses the options %j, which would allow too much', (options, problem) => {
    const role = new Role(new Stack(), 'Role', { assumedBy: new AccountPrincipal('1') });
    expect(() => posthaste.grantAdminister(role, options)).toThrow(problem);
  });

  it('is refused where tokens authorise callers', () => {
    const { grantPrincipal } = grantee('Holder');
    const withTokens = new Posthaste(new Stack(testApp(), 'Tokens'), 'Webhooks', TOKENS);
    expect(() => withTokens.grantAdminister({ grantPrincipal })).toThrow(
      'apiAuthorization (jwt) must be iam for grantAdminister',
    );
  });
});

describe('the metrics', () => {
  it.each([
    ['DeliveriesDelivered', posthaste.metricDelivered()],
    ['DeliveriesExhausted', posthaste.metricExhausted()],
  ])('%s are those of the deployment, summed', (metricName, metric) => {
    expect(metric).toMatchObject({
      namespace: 'Posthaste',
      metricName,
      dimensions: { deployment: 'Shop' },
      statistic: 'Sum',
      period: Duration.minutes(5),
    });
  });

  it('include the age of the oldest wake-up in the retry queue', () => {
    const metric = posthaste.metricOldestRetry({ period: Duration.minutes(1) });
    expect(metric).toMatchObject({
      metricName: 'ApproximateAgeOfOldestMessage',
      statistic: 'Maximum',
      period: Duration.minutes(1),
    });
    expect(stack.resolve(metric.dimensions)).toEqual({
      QueueName: { 'Fn::GetAtt': [idOf('AWS::SQS::Queue', 'WebhooksPipelineRetryQueue'), 'QueueName'] },
    });
  });
});

const RULE = 'AWS::Events::Rule';
const TOPIC = 'AWS::SNS::Topic';
const SUBSCRIPTION = 'AWS::SNS::Subscription';

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
    const statements = queueStatementsOf(template, ingress.id);
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
    expect(environmentAt(template, 'WebhooksPipelineDispatchFunction')).toMatchObject({
      INGRESS_ROUTES: JSON.stringify({ 'com.example.shop': 'orders', 'shop-payments': 'payments' }),
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
    const notSent = resourceAt(template, 'AWS::SQS::Queue', 'EventsNotSent').id;
    expect(queuePoliciesIn(template).map(({ Queues }) => Queues)).toEqual([[{ Ref: notSent }]]);
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

describe('the version of aws-cdk-lib', () => {
  const require = (found: string) => () => {
    requireCdk(found, '^2.190.0');
  };

  it.each(['2.9.0', '2.189.1', '1.204.0'])('%s is too old, and the error says which is needed', (found) => {
    expect(require(found)).toThrow(`Posthaste needs aws-cdk-lib 2.190.0 or later, and found ${found}`);
  });

  it.each(['2.190.0', '2.276.0'])('%s will do', (found) => {
    expect(require(found)).not.toThrow();
  });
});
