import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createStacks } from '../../infra/deployment.ts';
import cdkJson from '../../cdk.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { templatesFor, testApp } from './templates.ts';

const { state, pipeline, monitoring } = templatesFor();

const outputsOf = (template: Template): string[] =>
  Object.keys(template.findOutputs('*'))
    .filter((name) => !/^(?:Exports|Publish)Output/.test(name))
    .toSorted();

describe('the app', () => {
  it('runs on the Node.js from its packages, also under a globally installed CDK CLI', () => {
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
});

describe('the stacks', () => {
  it('are named after the deployment, and only the state is protected against deletion', () => {
    const stacks = createStacks(testApp(), { deployment: 'Other' });
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

  it('are not protected in a local deployment', () => {
    const stacks = createStacks(testApp(), { local: true });
    expect(stacks.state.terminationProtection).toBe(false);
  });

  it('can replace resources that the monitoring stack watches', () => {
    const text = JSON.stringify(monitoring.toJSON());
    expect(text).toContain('Fn::GetStackOutput');
    expect(text).not.toContain('Fn::ImportValue');
  });

  it('have these outputs', () => {
    expect(outputsOf(state)).toEqual([
      'DeliveriesTable',
      'PayloadBucket',
      'SecretsKeyArn',
      'SubscriptionsTable',
    ]);
    expect(outputsOf(pipeline)).toEqual([
      'ApiAuthorization',
      'ApiFunction',
      'ApiId',
      'ApiUrl',
      'DeliverFunction',
      'DeliveriesTable',
      'DeliveryDeadLetterUrl',
      'DeliveryQueueUrl',
      'DispatchFunction',
      'IngressDeadLetterUrl',
      'IngressQueueUrl',
      'OperateFunction',
      'OperationDeadLetterUrl',
      'OperationQueueUrl',
      'OperatorEventBus',
      'PosthasteDeployment',
      'ReconcileFunction',
      'RetryQueueUrl',
      'ScheduleGroup',
      'SchedulerDeadLetterUrl',
      'SecretsFunction',
      'SubscriptionsTable',
      'UndeliverableQueueUrl',
      'WorkerEnvironment',
    ]);
  });

  it('have only a dashboard, alarms and queries in the monitoring stack', () => {
    const types = z
      .record(z.string(), z.object({ Type: z.string() }))
      .parse(monitoring.toJSON()['Resources']);
    expect(new Set(Object.values(types).map(({ Type }) => Type))).toEqual(
      new Set([
        'AWS::CloudWatch::Alarm',
        'AWS::CloudWatch::CompositeAlarm',
        'AWS::Logs::QueryDefinition',
        'AWS::CloudWatch::Dashboard',
      ]),
    );
  });
});
