import { Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
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
import { Posthaste } from '../../infra/index.ts';
import { alarmsIn } from '../support/monitored.ts';
import { arnOf, resourceAt, resourcesOf, statementsAt, templatesFor, testApp } from './templates.ts';

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

  it('has the outputs of the three stacks, among them one with the name of the deployment', () => {
    const { state, pipeline } = templatesFor();
    const names = [state, pipeline].flatMap((one) =>
      Object.keys(one.findOutputs('*')).filter((name) => !/^(?:Exports|Publish)Output/.test(name)),
    );
    const outputs = z.record(z.string(), z.object({ Value: z.unknown() })).parse(template.findOutputs('*'));
    const shortened = Object.keys(outputs).map((key) => /^Webhooks(\w+)[0-9A-F]{8}$/.exec(key)?.[1] ?? key);
    expect(shortened.toSorted()).toEqual([...new Set(names)].toSorted());
    expect(Object.entries(outputs).filter(([, { Value }]) => Value === 'Shop')).toEqual([
      [expect.stringMatching(/PosthasteDeployment[0-9A-F]{8}$/), expect.anything()],
    ]);
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

describe('grantPublish', () => {
  it('allows sending to the ingress queue, and nothing else', () => {
    expect(statementsAt(template, 'ProducerDefaultPolicy')).toEqual([
      { effect: 'Allow', actions: ['sqs:SendMessage'], resources: [arnOf(ingress)], condition: undefined },
    ]);
  });
});

describe('grantPublish of another stack', () => {
  const other = (grantee: IGrantable) => {
    const app = testApp();
    const shop = new Posthaste(new Stack(app, 'Shop'), 'Webhooks');
    shop.grantPublish(grantee);
    return JSON.stringify([...resourcesOf(Template.fromStack(Stack.of(shop)), 'AWS::SQS::QueuePolicy')]);
  };

  it('opens the ingress queue to one account, or to a service on behalf of named sources', () => {
    const sns = new ServicePrincipal('sns.amazonaws.com');
    const source = { ArnEquals: { 'aws:SourceArn': 'arn:aws:sns:eu-west-1:123456789012:orders' } };
    expect(other(new AccountPrincipal('123456789012'))).toContain('123456789012');
    expect(other(sns.withConditions(source))).toContain('aws:SourceArn');
  });

  it.each<[string, IGrantable]>([
    ['a service for all of its customers', new ServicePrincipal('sns.amazonaws.com')],
    ['everyone', new AnyPrincipal()],
    ['everyone, spelt otherwise', new ArnPrincipal('*')],
    ['everyone, as a star', new StarPrincipal()],
  ])('does not open it to %s', (_who, grantee) => {
    expect(() => other(grantee)).toThrow('needs a condition');
  });
});

describe('grantAdminister', () => {
  it('allows every route except the export of credentials', () => {
    expect(routesOf('Operator')).toEqual([
      'DELETE/v2/queues/*',
      'GET/',
      'GET/v2',
      'GET/v2/*',
      'PATCH/v2/queues/*',
      'POST/v2/queues/*',
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
    const withTokens = new Posthaste(new Stack(testApp(), 'Tokens'), 'Webhooks', {
      apiAuthorization: 'jwt',
      jwtIssuer: 'https://id.example.com',
      jwtAudience: ['posthaste'],
    });
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
