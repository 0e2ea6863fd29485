import { CloudFormation } from '@aws-sdk/client-cloudformation';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { deployment } from '../support/deployment.ts';
import { onDeployment } from '../support/deployed-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { jsonLines } from '../unit/cli/run-command.ts';

const cloudFormation = new CloudFormation(deployment.client);

const template = z.looseObject({
  Resources: z.record(
    z.string(),
    z.looseObject({ Type: z.string(), Properties: z.looseObject({}).default({}) }),
  ),
});
type Template = z.output<typeof template>;

const templateOf = async (StackName: string): Promise<Template> => {
  const { TemplateBody = '' } = await cloudFormation.getTemplate({ StackName });
  return template.parse(JSON.parse(TemplateBody));
};

/** What `upgrade --check` says of an output folder of `cdk synth` with these stacks. */
const checked = async (stacks: Readonly<Record<string, Template>>) => {
  const folder = temporaryFolder();
  const artifacts = Object.entries(stacks).map(([name, content]) => {
    writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(content));
    const stackTemplateAssetObjectUrl = `s3://cdk-hnb659fds-assets-\${AWS::AccountId}-\${AWS::Region}/check-${name}.json`;
    const properties = { templateFile: `${name}.json`, stackTemplateAssetObjectUrl };
    return [
      name,
      { type: 'aws:cloudformation:stack', environment: 'aws://unknown-account/unknown-region', properties },
    ];
  });
  const manifest = { artifacts: Object.fromEntries(artifacts) as unknown };
  writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify(manifest));
  const { status, stdout } = await onDeployment('upgrade', '--check', '--templates', folder, '--json');
  return { status, report: jsonLines(stdout)[0] };
};

it('upgrade --check has CloudFormation compare each stack, and deploys nothing', async () => {
  const [state, pipeline] = await Promise.all(['PosthasteState', 'PosthastePipeline'].map(templateOf));
  if (state === undefined || pipeline === undefined) throw new Error('not deployed');
  const bySet = { source: 'change_set', changes: [] };
  expect(await checked({ PosthasteState: state, PosthastePipeline: pipeline })).toMatchObject({
    status: 0,
    report: { stacks: [bySet, bySet], losses: [], oneWay: [] },
  });

  const [id, table] =
    Object.entries(state.Resources).find(([, { Type }]) => Type === 'AWS::DynamoDB::GlobalTable') ?? [];
  if (id === undefined || table === undefined) throw new Error('no table');
  const renamed = { ...table, Properties: { ...table.Properties, TableName: 'another' } };
  const changed = { ...state, Resources: { ...state.Resources, [id]: renamed } };
  expect(await checked({ PosthasteState: changed, PosthastePipeline: pipeline })).toMatchObject({
    status: 1,
    report: {
      losses: [
        {
          stack: 'PosthasteState',
          logicalId: id,
          properties: ['TableName'],
          stays: expect.any(Boolean) as boolean,
        },
      ],
    },
  });
  expect(await templateOf('PosthasteState')).toEqual(state);
  const { Summaries } = await cloudFormation.listChangeSets({ StackName: 'PosthasteState' });
  expect(Summaries?.filter(({ ChangeSetName = '' }) => ChangeSetName.includes('upgrade-check'))).toEqual([]);
});
