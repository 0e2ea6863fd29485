import { readFileSync } from 'node:fs';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  compareTemplates,
  findLosses,
  REPLACING,
  type Template as ComparedTemplate,
  templateSchema,
} from '../../cli/commands/upgrade/compare.ts';
import { checkedVariants } from '../../infra/checked-variants.ts';
import {
  outputsOf,
  type Resource,
  resourceAt,
  resourcesOf,
  type Templates,
  templatesFor,
} from './templates.ts';
import { Monitoring } from '../../infra/constructs/monitoring/monitoring.ts';
import { Pipeline } from '../../infra/constructs/pipeline.ts';
import { State } from '../../infra/constructs/state/state.ts';

/**
 * Resources with data, and the properties that a release must not change: those that replace the resource, and those of
 * a table that rebuild an index.
 */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  ...REPLACING,
  'AWS::DynamoDB::GlobalTable': [
    ...(REPLACING['AWS::DynamoDB::GlobalTable'] ?? []),
    'AttributeDefinitions',
    'indexes',
  ],
  'AWS::Lambda::EventSourceMapping': ['EventSourceArn'],
};

type Kept = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Resources that a release must not replace, by stack and logical id. */
const keptIn = (templates: Readonly<Record<string, Template>>): Record<string, Record<string, Kept>> =>
  Object.fromEntries(
    Object.entries(templates).map(([stack, template]) => [
      stack,
      Object.fromEntries(
        Object.keys(KEPT).flatMap((type) =>
          [...resourcesOf(template, type)].map(([id, resource]): [string, Kept] => [
            id,
            keptOf(type, resource),
          ]),
        ),
      ),
    ]),
  );

const keptOf = (type: string, { Properties }: Resource): Kept => {
  // CloudFormation changes an index by rebuilding it, which reads the whole table, and refuses to rebuild two at once.
  const values: Record<string, unknown> = { ...Properties, indexes: Properties['GlobalSecondaryIndexes'] };
  const kept = (KEPT[type] ?? []).filter((name) => values[name] !== undefined);
  return { type, ...Object.fromEntries(kept.map((name) => [name, values[name]])) };
};

/** `only`: the one variant that deploys this resource. `except`: the one that does not. */
const resource = z.looseObject({
  type: z.string(),
  only: z.string().optional(),
  except: z.string().optional(),
});

const committed = z
  .record(z.string(), z.record(z.string(), resource))
  .parse(JSON.parse(readFileSync(new URL('stateful-resources.json', import.meta.url), 'utf8')));

const committedFor = (variant: string) =>
  Object.fromEntries(
    Object.entries(committed).map(([stack, resources]) => [
      stack,
      Object.fromEntries(
        Object.entries(resources).flatMap(([id, { only = variant, except, ...kept }]) =>
          only === variant && except !== variant ? [[id, kept]] : [],
        ),
      ),
    ]),
  );

/** Written by test/versions/store.ts. */
const versionBefore: Record<string, ComparedTemplate> = z
  .record(z.string(), templateSchema)
  .parse(JSON.parse(readFileSync(new URL('templates-of-556ba158.json', import.meta.url), 'utf8')));

/** As docs/construct.md#move-a-deployment says, without the feature flags of this app. */
const movedTemplates = (): Templates => {
  const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
  const stacks = {
    state: new Stack(app, 'PosthasteState'),
    pipeline: new Stack(app, 'PosthastePipeline'),
    monitoring: new Stack(app, 'PosthasteMonitoring'),
  };
  const state = new State(stacks.state, 'State', { attemptTimeout: Duration.seconds(15) });
  const pipeline = new Pipeline(stacks.pipeline, 'Pipeline', { state });
  new Monitoring(stacks.monitoring, 'Monitoring', { pipeline });
  return {
    state: Template.fromStack(stacks.state),
    pipeline: Template.fromStack(stacks.pipeline),
    monitoring: Template.fromStack(stacks.monitoring),
  };
};

/** A line for each resource, with its type and its logical id. That of a version ends in a hash of what it contains. */
const resourcesIn = (template: Template): string[] =>
  Object.entries(resources.parse(template.toJSON()).Resources)
    .map(
      ([id, { Type }]) => `${Type} ${Type === 'AWS::Lambda::Version' ? id.replace(/[0-9a-f]{32}$/, '') : id}`,
    )
    .toSorted();

const resources = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string() })) });

const variants = Object.entries(checkedVariants).map(([name, settings]) => ({ name, settings }));

/** Without the settings that existing deployments cannot take. */
const existing = variants.filter(({ name }) => name !== 'fromTheStart');

describe('an upgrade', () => {
  it.each(existing)('replaces no resource with data: $name', ({ name, settings }) => {
    expect(
      keptIn(templatesFor(settings)),
      [
        'A logical id, or a property that cannot be changed in place, differs from test/infra/stateful-resources.json.',
        'In existing deployments, the next "cdk deploy" would replace that resource by an empty one: the old tables and',
        'bucket would be orphaned, and messages in queues and schedules would be lost.',
        'To avoid that, restore the id of the construct or the value of the property.',
        'Add new resources to the file. An intended replacement needs a migration of the data, described in CHANGELOG.md.',
      ].join('\n'),
    ).toEqual(committedFor(name));
  });

  it('changes no logical id', async () => {
    const all = new Map(
      variants.map(({ name, settings }) => [
        name,
        Object.entries(templatesFor(settings)).flatMap(([stack, template]) =>
          resourcesIn(template).map((line) => `${stack}: ${line}`),
        ),
      ]),
    );
    const common = all.get('iam') ?? [];
    const differences = [...all].flatMap(([name, lines]) => [
      ...lines.filter((line) => !common.includes(line)).map((line) => `${name} + ${line}`),
      ...common.filter((line) => !lines.includes(line)).map((line) => `${name} - ${line}`),
    ]);
    await expect([...common, ...differences, ''].join('\n')).toMatchFileSnapshot('logical-ids.txt');
  });

  it('replaces no resource when another app takes over the stacks with the parts of the package', () => {
    const deployed = templatesFor({});
    const moved = movedTemplates();
    expect(keptIn(moved)).toEqual(committedFor('iam'));
    for (const stack of ['state', 'pipeline'] as const) {
      expect(resourcesIn(moved[stack])).toEqual(resourcesIn(deployed[stack]));
      expect(outputsOf(moved[stack])).toEqual(outputsOf(deployed[stack]));
    }
  });

  it('from the version before neither replaces nor removes a resource with data, by the comparison of posthaste upgrade', () => {
    const { state, pipeline, monitoring } = templatesFor({});
    const today = { PosthasteState: state, PosthastePipeline: pipeline, PosthasteMonitoring: monitoring };
    const before = Object.entries(versionBefore);
    expect(before.flatMap(([, { Resources }]) => Object.keys(Resources)).length).toBeGreaterThan(20);
    for (const [stack, deployed] of before) {
      const next = templateSchema.parse(today[stack as keyof typeof today].toJSON());
      expect(findLosses(compareTemplates(deployed, next), deployed), stack).toEqual([]);
    }
  });

  it.each(['Function', 'Alias'])(
    'updates the %s of deliver before that of dispatch, which may send jobs that the old deliver cannot read',
    (type) => {
      const found = templatesFor({}).pipeline.findResources(`AWS::Lambda::${type}`);
      const idOf = (name: string) => Object.keys(found).find((id) => id.startsWith(`Pipeline${name}`));
      expect(found[idOf('Dispatch') ?? '']?.['DependsOn']).toContain(idOf('Deliver'));
    },
  );
});

describe('the upgrade of a function', () => {
  const { pipeline } = templatesFor({});
  const groupsIn = (template: Template) => [...resourcesOf(template, 'AWS::CodeDeploy::DeploymentGroup')];

  it.each(['Dispatch', 'Deliver', 'Api', 'Secrets'])(
    'gives a tenth of the invocations of %s to the new version for five minutes, and goes back on alarms',
    (name) => {
      const group = resourceAt(pipeline, 'AWS::CodeDeploy::DeploymentGroup', `PipelineUpgrades${name}`);
      const alarm = (path: string) =>
        resourceAt(pipeline, 'AWS::CloudWatch::Alarm', `PipelineUpgrades${path}`);
      const application = resourceAt(
        pipeline,
        'AWS::CodeDeploy::Application',
        'PipelineUpgradesApplication',
      ).id;
      const errors = alarm(`${name}UpgradeErrors`);
      expect(group.Properties).toMatchObject({
        ApplicationName: { Ref: application },
        DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
        AlarmConfiguration: {
          Enabled: true,
          Alarms: [errors.id, alarm('UpgradeFaults').id].map((id) => ({ Name: { Ref: id } })),
        },
        AutoRollbackConfiguration: {
          Enabled: true,
          Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_FAILURE']) as unknown,
        },
      });
      const lambda = { Ref: resourceAt(pipeline, 'AWS::Lambda::Function', `Pipeline${name}Function`).id };
      expect(errors.Properties).toMatchObject({
        MetricName: 'Errors',
        Dimensions: [
          { Name: 'FunctionName', Value: lambda },
          { Name: 'Resource', Value: { 'Fn::Join': ['', [lambda, ':live']] } },
        ],
        DatapointsToAlarm: 3,
        EvaluationPeriods: 5,
      });
      const { id } = resourceAt(pipeline, 'AWS::Lambda::Alias', `Pipeline${name}Live`);
      pipeline.templateMatches({
        Resources: {
          [id]: {
            UpdatePolicy: {
              CodeDeployLambdaAliasUpdate: {
                ApplicationName: { Ref: application },
                DeploymentGroupName: { Ref: group.id },
              },
            },
          },
        },
      });
    },
  );

  it('can take longer', () => {
    for (const [, { Properties }] of groupsIn(templatesFor({ canaryMinutes: 30 }).pipeline))
      expect(Properties['DeploymentConfigName']).toBe('CodeDeployDefault.LambdaCanary10Percent30Minutes');
  });

  it.each([{ canaryMinutes: 0 }, { local: true, apiAuthorization: 'none' }])(
    'is complete at once with %o: an alias and a version, without CodeDeploy and its alarms',
    (settings) => {
      const template = templatesFor(settings).pipeline;
      template.resourceCountIs('AWS::Lambda::Alias', 6);
      template.resourceCountIs('AWS::Lambda::Version', 6);
      expect(JSON.stringify(template.toJSON())).not.toMatch(/CodeDeploy|AWS::CloudWatch::Alarm/);
    },
  );

  it('is gradual only for the API where workers do the work', () => {
    const names = groupsIn(templatesFor({ compute: 'worker' }).pipeline).map(([id]) => id.slice(0, -8));
    expect(names).toEqual(['PipelineUpgradesApi', 'PipelineUpgradesSecrets']);
  });
});
