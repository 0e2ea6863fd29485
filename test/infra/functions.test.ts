import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { buildFunction } from '../../infra/bundling.ts';
import { arnOf, resourceAt, resourcesOf, templatesFor } from './templates.ts';

const FUNCTION = 'AWS::Lambda::Function';
const { pipeline } = templatesFor({ logRetentionDays: 7 });
const { pipeline: local } = templatesFor({ local: true, apiAuthorization: 'none' });

const functions = ['Dispatch', 'Deliver', 'Reconcile', 'Operate', 'Api', 'Secrets'].map((name) => ({
  name,
  path: `Pipeline${name}`,
}));

describe('each function', () => {
  it.each(functions)('$name runs Node 24 on arm64', ({ path }) => {
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
    });
  });

  it.each(functions)('$name logs to a separate log group, which expires', ({ path }) => {
    const logGroup = resourceAt(pipeline, 'AWS::Logs::LogGroup', `${path}LogGroup`);
    expect(logGroup).toMatchObject({ DeletionPolicy: 'Retain', Properties: { RetentionInDays: 7 } });
    expect(resourceAt(local, 'AWS::Logs::LogGroup', `${path}LogGroup`).DeletionPolicy).toBe('Delete');
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties['LoggingConfig']).toEqual({
      LogGroup: { Ref: logGroup.id },
    });
  });

  it.each(functions)('$name has a separate role without managed policies', ({ path }) => {
    const role = resourceAt(pipeline, 'AWS::IAM::Role', `${path}Role`);
    expect(role.Properties).not.toHaveProperty('ManagedPolicyArns');
    expect(resourceAt(pipeline, FUNCTION, `${path}Function`).Properties['Role']).toEqual(arnOf(role.id));
  });

  it('is one of six: CDK adds none, also in a local deployment', () => {
    expect(resourcesOf(pipeline, FUNCTION).size).toBe(functions.length);
    expect(resourcesOf(local, FUNCTION).size).toBe(functions.length);
  });

  it('reserves no concurrency, which small accounts refuse', () => {
    for (const { Properties } of resourcesOf(pipeline, FUNCTION).values()) {
      expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions');
    }
  });
});

describe('loop detection by Lambda', () => {
  it('is off only for deliver and operate, which send messages to queues that they consume', () => {
    const allowed = [...resourcesOf(pipeline, FUNCTION)]
      .filter(([, { Properties }]) => Properties['RecursiveLoop'] === 'Allow')
      .map(([id]) => id);
    expect(allowed).toEqual(
      ['PipelineDeliverFunction', 'PipelineOperateFunction'].map(
        (path) => resourceAt(pipeline, FUNCTION, path).id,
      ),
    );
  });
});

describe('reconcile', () => {
  const { id } = resourceAt(pipeline, FUNCTION, 'PipelineReconcileFunction');

  it('runs every minute, and failed or late runs are not repeated', () => {
    pipeline.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [{ Arn: arnOf(id), RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 } }],
    });
    pipeline.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: id },
      MaximumEventAgeInSeconds: 60,
      MaximumRetryAttempts: 0,
    });
  });

  it('ends before the next run begins', () => {
    expect(resourceAt(pipeline, FUNCTION, 'PipelineReconcileFunction').Properties['Timeout']).toBe(60);
  });
});

describe('the bundle of a function', () => {
  it('does not depend on where it is built: its source map has paths of the project', () => {
    const folder = mkdtempSync(join(tmpdir(), 'posthaste-bundle-'));
    buildFunction('reconcile', folder);
    const map: unknown = JSON.parse(readFileSync(join(folder, 'index.mjs.map'), 'utf8'));
    rmSync(folder, { recursive: true });
    const { sources } = z.object({ sources: z.array(z.string()) }).parse(map);
    expect(sources).toContain('functions/reconcile/handler.ts');
    expect(sources.filter((source) => !/^(?:functions|shared|node_modules)\//.test(source))).toEqual([]);
  });
});
