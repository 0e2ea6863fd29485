import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Posthaste } from '../../infra/constructs/posthaste.ts';
import { placeStacks } from '../../infra/deployment.ts';
import { parseSettings } from '../../infra/settings.ts';
import { resourcesOf, templatesFor, testApp } from './templates.ts';

const { state, pipeline, monitoring } = templatesFor();

/** What holds data: a change of its logical id replaces it by an empty one, in every deployment there is. */
const STATEFUL_TYPES = [
  'AWS::DynamoDB::GlobalTable',
  'AWS::S3::Bucket',
  'AWS::KMS::Key',
  'AWS::SQS::Queue',
  'AWS::Scheduler::ScheduleGroup',
];

const statefulIn = (template: Template): string[] =>
  STATEFUL_TYPES.flatMap((type) => [...resourcesOf(template, type).keys()]);

describe('logical ids of what holds data', () => {
  it('are what they have always been in the state stack', () => {
    expect(statefulIn(state)).toEqual([
      'StateSubscriptionsTable496AA08A',
      'StateDeliveriesTable26D3AB7D',
      'StatePayloadsBucketB3AEA3C7',
      'StateSecretsKey7082AE5F',
    ]);
  });

  it('are what they have always been in the pipeline stack', () => {
    expect(statefulIn(pipeline)).toEqual([
      'PipelineIngressDeadLettersQueue12151C6F',
      'PipelineIngressQueue7D11ACAC',
      'PipelineDeliveryDeadLettersQueue2D760384',
      'PipelineDeliveryQueue7FACCEEE',
      'PipelineRetryQueue5BCC9CC5',
      'PipelineUndeliverableQueue4B18D83D',
      'PipelineSchedulesDeadLettersQueueDF22BD75',
      'PipelineOperationDeadLettersQueueEBB3632B',
      'PipelineOperationQueueD971FC5F',
      'PipelineSchedulesGroup634E730D',
    ]);
  });

  it('are the same whatever the settings', () => {
    const other = templatesFor({ deployment: 'Other', local: true, attemptTimeoutSeconds: 5 });
    expect(statefulIn(other.state)).toEqual(statefulIn(state));
    expect(statefulIn(other.pipeline)).toEqual(statefulIn(pipeline));
  });
});

const outputsOf = (template: Template): string[] =>
  Object.keys(template.findOutputs('*'))
    .filter((name) => !name.startsWith('ExportsOutput'))
    .toSorted();

describe('the stacks', () => {
  it('are named after the deployment, and only the state is protected against deletion', () => {
    const stacks = placeStacks(testApp(), parseSettings({ deployment: 'Other' }));
    expect(Object.values(stacks).map(({ stackName }) => stackName)).toEqual([
      'OtherState',
      'OtherPipeline',
      'OtherMonitoring',
    ]);
    expect(Object.values(stacks).map(({ terminationProtection }) => terminationProtection)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('can all be deleted on a laptop', () => {
    const stacks = placeStacks(testApp(), parseSettings({ local: true }));
    expect(stacks.state.terminationProtection).toBe(false);
  });

  it('say what they made', () => {
    expect(outputsOf(state)).toEqual([
      'DeliveriesTable',
      'PayloadBucket',
      'SecretsKeyArn',
      'SubscriptionsTable',
    ]);
    expect(outputsOf(pipeline)).toEqual([
      'ApiFunction',
      'ApiId',
      'ApiUrl',
      'DeliverFunction',
      'DeliveryDeadLetterUrl',
      'DeliveryQueueUrl',
      'DispatchFunction',
      'IngressDeadLetterUrl',
      'IngressQueueUrl',
      'OperateFunction',
      'OperationDeadLetterUrl',
      'OperationQueueUrl',
      'OperatorEventBus',
      'ReconcileFunction',
      'RetryQueueUrl',
      'ScheduleGroup',
      'SchedulerDeadLetterUrl',
      'UndeliverableQueueUrl',
    ]);
  });

  it('keep what only reads apart: monitoring makes a dashboard and nothing else', () => {
    const types = z
      .record(z.string(), z.object({ Type: z.string() }))
      .parse(monitoring.toJSON()['Resources']);
    expect(Object.values(types).map(({ Type }) => Type)).toEqual(['AWS::CloudWatch::Dashboard']);
  });
});

describe('the dashboard', () => {
  const [dashboard] = resourcesOf(monitoring, 'AWS::CloudWatch::Dashboard').values();
  const body = JSON.stringify(dashboard);

  it.each([
    'Attempts by outcome',
    'AttemptsDelivered',
    'AttemptsFailed',
    'AttemptsRejected',
    'ApproximateAgeOfOldestMessage',
    'ingress dead letters',
    'delivery dead letters',
    'scheduler dead letters',
    'operation dead letters',
    'undeliverable',
  ])('shows %s', (what) => {
    expect(body).toContain(what);
  });
});

describe('Posthaste inside another stack', () => {
  it('has the same parts, with state that stays', () => {
    const stack = new Stack(testApp(), 'Shop');
    new Posthaste(stack, 'Webhooks');
    const template = Template.fromStack(stack);
    template.resourceCountIs('AWS::DynamoDB::GlobalTable', 2);
    template.resourceCountIs('AWS::Lambda::Function', 5);
    template.resourceCountIs('AWS::KMS::Key', 1);
    template.resourceCountIs('AWS::SQS::Queue', 9);
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
    template.allResources('AWS::DynamoDB::GlobalTable', { DeletionPolicy: 'Retain' });
  });
});
