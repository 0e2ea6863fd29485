import { readFileSync } from 'node:fs';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkedVariants } from '../../infra/checked-variants.ts';
import { outputsOf, type Resource, resourcesOf, type Templates, templatesFor } from './templates.ts';
import { Monitoring } from '../../infra/constructs/monitoring/monitoring.ts';
import { Pipeline } from '../../infra/constructs/pipeline.ts';
import { State } from '../../infra/constructs/state/state.ts';

/**
 * Resources with data, and the properties whose change makes CloudFormation replace the resource ("Update requires:
 * Replacement" in the CloudFormation template reference) or, for tables, rebuild an index.
 */
const REPLACING: Readonly<Record<string, readonly string[]>> = {
  'AWS::DynamoDB::GlobalTable': [
    'TableName',
    'KeySchema',
    'AttributeDefinitions',
    'LocalSecondaryIndexes',
    'indexes',
  ],
  'AWS::S3::Bucket': ['BucketName', 'BucketNamePrefix', 'BucketNamespace', 'ObjectLockEnabled'],
  'AWS::KMS::Key': ['KeySpec', 'KeyUsage', 'MultiRegion', 'Origin'],
  'AWS::SQS::Queue': ['QueueName', 'FifoQueue'],
  'AWS::Scheduler::ScheduleGroup': ['Name'],
  'AWS::Events::EventBus': ['Name'],
  'AWS::Logs::LogGroup': ['LogGroupName'],
  'AWS::EC2::EIP': ['Domain', 'PublicIpv4Pool', 'NetworkBorderGroup'],
  'AWS::ApiGatewayV2::Api': ['ProtocolType'],
};

type Kept = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Resources that a release must not replace, by stack and logical id. */
const keptIn = (templates: Readonly<Record<string, Template>>): Record<string, Record<string, Kept>> =>
  Object.fromEntries(
    Object.entries(templates).map(([stack, template]) => [
      stack,
      Object.fromEntries(
        Object.keys(REPLACING).flatMap((type) =>
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
  const kept = (REPLACING[type] ?? []).filter((name) => values[name] !== undefined);
  return { type, ...Object.fromEntries(kept.map((name) => [name, values[name]])) };
};

/** `only`: the one variant that deploys this resource. */
const resource = z.looseObject({ type: z.string(), only: z.string().optional() });

const committed = z
  .record(z.string(), z.record(z.string(), resource))
  .parse(JSON.parse(readFileSync(new URL('stateful-resources.json', import.meta.url), 'utf8')));

const committedFor = (variant: string) =>
  Object.fromEntries(
    Object.entries(committed).map(([stack, resources]) => [
      stack,
      Object.fromEntries(
        Object.entries(resources).flatMap(([id, { only, ...kept }]) =>
          only === undefined || only === variant ? [[id, kept]] : [],
        ),
      ),
    ]),
  );

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

/** A line for each resource, with its type and its logical id. */
const resourcesIn = (template: Template): string[] =>
  Object.entries(resources.parse(template.toJSON()).Resources)
    .map(([id, { Type }]) => `${Type} ${id}`)
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

  it('updates deliver before dispatch, because the new dispatch may send jobs that the old deliver cannot read', () => {
    const functions = templatesFor({}).pipeline.findResources('AWS::Lambda::Function');
    const idOf = (name: string) =>
      Object.keys(functions).find((id) => id.includes(`Pipeline${name}Function`));
    expect(functions[idOf('Dispatch') ?? '']?.['DependsOn']).toContain(idOf('Deliver'));
  });
});
