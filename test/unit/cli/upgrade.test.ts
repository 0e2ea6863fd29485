import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compareTemplates, findLosses, templateSchema } from '../../../cli/commands/upgrade/compare.ts';
import { awsEnvironment, plainEnvironment } from '../../../local/local-aws.ts';
import { awsStub, type StubAnswer } from '../../support/aws-stub.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ctrlC, posthaste } from './run-command.ts';

const table = (properties: object, more: object = {}) => ({
  Type: 'AWS::DynamoDB::GlobalTable',
  Properties: properties,
  DeletionPolicy: 'Retain',
  UpdateReplacePolicy: 'Retain',
  ...more,
});
const queue = { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'q' } };
const deliver = (code: string, version: string) => ({
  Type: 'AWS::Lambda::Function',
  Properties: { Code: code, Environment: { Variables: { POSTHASTE_VERSION: version } } },
});
const templateOf = (resources: object) => templateSchema.parse({ Resources: resources });

const KEY = { KeySchema: [{ AttributeName: 'pk' }] };

describe('the comparison of two templates', () => {
  const before = templateOf({ Table: table(KEY), Queue: queue, Deliver: deliver('a', '1.0.0') });
  const losses = (resources: object) => {
    const next = templateOf(resources);
    return findLosses(compareTemplates(before, next), before).map(
      ({ logicalId, action, stays }) => `${logicalId} ${action} ${stays ? 'stays' : 'goes'}`,
    );
  };

  it('finds nothing to fear in changed code and in what is new', () => {
    const next = { ...before.Resources, Deliver: deliver('b', '1.0.0'), New: queue };
    expect(losses(next)).toEqual([]);
    expect(compareTemplates(before, templateOf(next))).toEqual([
      { action: 'changed', type: 'AWS::Lambda::Function', logicalId: 'Deliver', properties: ['Code'] },
      { action: 'added', type: 'AWS::SQS::Queue', logicalId: 'New', properties: [] },
    ]);
  });

  it('finds a table whose key changes, and a queue that is renamed', () => {
    const keyed = table({ KeySchema: [{ AttributeName: 'id' }] });
    const renamed = { ...queue, Properties: { QueueName: 'other' } };
    expect(losses({ ...before.Resources, Table: keyed, Queue: renamed })).toEqual([
      'Table replaced stays',
      'Queue replaced goes',
    ]);
  });

  it('finds a table that moves to another id, and one that becomes another type', () => {
    const { Table, ...others } = before.Resources;
    expect(losses({ ...others, Moved: Table })).toEqual(['Table removed stays']);
    expect(losses({ ...others, Table: { Type: 'AWS::DynamoDB::Table' } })).toEqual(['Table replaced stays']);
  });

  it('names a change of what happens to a table that is removed', () => {
    const next = templateOf({ ...before.Resources, Table: table(KEY, { DeletionPolicy: 'Delete' }) });
    expect(compareTemplates(before, next)).toMatchObject([
      { action: 'changed', properties: ['DeletionPolicy'] },
    ]);
  });

  it('takes for data what the template says to retain', () => {
    const retained = templateOf({ Other: { Type: 'AWS::RDS::DBInstance', DeletionPolicy: 'Snapshot' } });
    const next = templateOf({});
    expect(findLosses(compareTemplates(retained, next), retained)).toMatchObject([{ logicalId: 'Other' }]);
  });
});

/** An output folder of `cdk synth` with a stack, within a stage if `stage` is given. */
const assemblyOf = (
  stackName: string,
  template: object,
  stage?: string,
  environment = 'aws://unknown-account/unknown-region',
): string => {
  const folder = temporaryFolder();
  const manifest = {
    artifacts: {
      [stackName]: { type: 'aws:cloudformation:stack', environment, properties: { templateFile: 't.json' } },
    },
  };
  writeFileSync(path.join(folder, 't.json'), JSON.stringify({ Resources: template }));
  writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify(manifest));
  if (stage === undefined) return folder;
  const outer = temporaryFolder();
  mkdirSync(path.join(outer, stage));
  cpSync(folder, path.join(outer, stage), { recursive: true });
  const nested = { [stage]: { type: 'cdk:cloud-assembly', properties: { directoryName: stage } } };
  writeFileSync(path.join(outer, 'manifest.json'), JSON.stringify({ artifacts: nested }));
  return outer;
};

const xml = (action: string, result: string): StubAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/xml' },
  body: `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`,
});

const refusal = (code: string, message: string, status = 400): StubAnswer => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
});

const STACK = 'arn:aws:cloudformation:eu-central-1:111122223333:stack/ShopPipeline/1';

/** CloudFormation with the stacks ShopState and ShopPipeline, which have this template. */
const deployed = async (template: object, changeSet: Readonly<Record<string, StubAnswer>>) => {
  const asked: string[] = [];
  const stub = await awsStub(({ body }) => {
    const form = new URLSearchParams(body);
    const action = form.get('Action') ?? '';
    const name = form.get('StackName') ?? '';
    asked.push(action);
    if (action === 'DescribeStacks' && !name.startsWith('Shop'))
      return refusal('ValidationError', `Stack with id ${name} does not exist`);
    if (action === 'DescribeStacks')
      return xml(
        action,
        `<Stacks><member><StackId>${STACK}</StackId><StackName>${name}</StackName></member></Stacks>`,
      );
    if (action === 'GetTemplate')
      return xml(
        action,
        `<TemplateBody><![CDATA[${JSON.stringify({ Resources: template })}]]></TemplateBody>`,
      );
    return changeSet[action] ?? xml(action, '');
  });
  onTestFinished(stub.close);
  const env = {
    ...plainEnvironment(),
    ...awsEnvironment(stub.config.endpoint, stub.config.credentials),
  };
  return { asked, env };
};

const created = xml('CreateChangeSet', '<Id>arn:change-set</Id>');

const change = (logicalId: string, replacement: string): string =>
  `<member><Type>Resource</Type><ResourceChange><Action>Modify</Action><LogicalResourceId>${logicalId}</LogicalResourceId>` +
  `<ResourceType>AWS::DynamoDB::GlobalTable</ResourceType><Replacement>${replacement}</Replacement><Details><member><Target>` +
  `<Attribute>Properties</Attribute><Name>TableName</Name></Target></member></Details></ResourceChange></member>`;

const RESOURCES = { Table: table(KEY), Deliver: deliver('a', '0.0.9') };

describe('posthaste upgrade', () => {
  it('says that only --check exists, and how to deploy', async () => {
    const { status, stderr } = await posthaste('upgrade');
    expect(status).toBe(2);
    expect(stderr).toContain('npx cdk deploy --all');
  });

  it('says nothing of a local deployment, which it does not look for', async () => {
    const env = { ...plainEnvironment(), HOME: temporaryFolder() };
    const { status, stderr } = await posthaste('upgrade --check', { env });
    expect(status).toBe(1);
    expect(stderr).toBe(
      'posthaste: No AWS region is set, so deployments in AWS cannot be looked up. Set AWS_REGION or AWS_PROFILE.\n',
    );
  });

  it('believes CloudFormation that a table is replaced, and deletes the change set', async () => {
    const { asked, env } = await deployed(RESOURCES, {
      CreateChangeSet: created,
      DescribeChangeSet: xml(
        'DescribeChangeSet',
        `<Status>CREATE_COMPLETE</Status><Changes>${change('Table', 'True')}</Changes>`,
      ),
    });
    const folder = assemblyOf('ShopPipeline', RESOURCES, 'assembly-Prod');
    const line = ['upgrade', '--check', '--deployment', 'Shop', '--templates', folder];
    const { status, stdout } = await posthaste(line, { env });
    expect(status).toBe(1);
    expect(stdout).toContain('ShopPipeline (CloudFormation)\n  no change\n  and 1 that refer to them');
    expect(stdout).toContain(
      'Do not deploy. The deployment would lose what these hold:\n' +
        '  ShopPipeline Table (AWS::DynamoDB::GlobalTable) replaced: it stays in the account, outside of the stack',
    );
    expect(asked.slice(-3)).toEqual(['CreateChangeSet', 'DescribeChangeSet', 'DeleteChangeSet']);
  });

  it.each([
    ['the caller may not create a change set', { CreateChangeSet: refusal('AccessDenied', 'no', 403) }, 'no'],
    [
      'CloudFormation cannot create it',
      {
        CreateChangeSet: created,
        DescribeChangeSet: xml(
          'DescribeChangeSet',
          '<Status>FAILED</Status><StatusReason>No export X</StatusReason>',
        ),
      },
      'No export X',
    ],
  ])('compares the templates where %s, and says so', async (_, changeSet, reason) => {
    const { env } = await deployed(RESOURCES, changeSet);
    const folder = assemblyOf('ShopPipeline', { ...RESOURCES, Deliver: deliver('b', '0.1.0') });
    const line = ['upgrade', '--check', '--deployment', 'Shop', '--templates', folder, '--json'];
    const { status, lines } = await posthaste(line, { env });
    expect(status).toBe(0);
    expect(lines).toMatchObject([
      {
        from: '0.0.9',
        to: '0.1.0',
        stacks: [
          {
            stack: 'ShopPipeline',
            source: 'templates',
            reason: expect.stringContaining(reason) as string,
            changes: [{ logicalId: 'Deliver', action: 'changed', properties: ['Code', 'Environment'] }],
          },
        ],
        losses: [],
      },
    ]);
  });

  it('deletes the change set of which it waits for the end at Ctrl-C', async () => {
    const { pressing, options } = ctrlC();
    const { asked, env } = await deployed(RESOURCES, {
      CreateChangeSet: created,
      get DescribeChangeSet() {
        return pressing(xml('DescribeChangeSet', '<Status>CREATE_IN_PROGRESS</Status>'))();
      },
    });
    const line = ['upgrade', '--check', '--deployment', 'Shop', '--templates'];
    const next = assemblyOf('ShopPipeline', RESOURCES);
    expect(await posthaste([...line, next], { env, ...options })).toMatchObject({ status: 130, stdout: '' });
    expect(asked.at(-1)).toBe('DeleteChangeSet');
  });

  it('ends the synthesis at Ctrl-C', async () => {
    const { press, options } = ctrlC();
    const { env } = await deployed(RESOURCES, {});
    const folder = temporaryFolder();
    const started = path.join(folder, 'started');
    const app = `sh -c 'echo $$ > ${started}; exec sleep 600'`;
    const ended = posthaste(['upgrade', '--check', '--deployment', 'Shop', '--app', app], {
      env,
      ...options,
    });
    await expect.poll(() => existsSync(started)).toBe(true);
    press();
    expect(await ended).toMatchObject({ status: 130, stdout: '' });
    const isRunning = () => spawnSync('kill', ['-0', readFileSync(started, 'utf8').trim()]).status === 0;
    await expect.poll(isRunning).toBe(false);
  });

  it('with --static asks for no change set', async () => {
    const { asked, env } = await deployed(RESOURCES, {});
    const line = ['upgrade', '--check', '--static', '--deployment', 'Shop', '--templates'];
    const { stdout } = await posthaste([...line, assemblyOf('ShopPipeline', RESOURCES)], { env });
    expect(stdout).toContain('no change');
    expect(asked).not.toContain('CreateChangeSet');
  });

  it.each([
    ['from an earlier version', ['0.0.9', '0.1.0', 'b'], ['Before you deploy', 'To go back later']],
    ['back to an earlier version', ['0.1.0', '0.0.9', 'b'], ['Before you go back']],
    ['between checkouts of one version', ['0.1.0', '0.1.0', 'b'], ['Before you deploy', 'To go back later']],
    ['where the code stays', ['0.1.0', '0.1.0', 'a'], []],
    ['to a version without such a change', ['0.1.0', '0.1.1', 'b'], []],
  ])('says what earlier versions do not read: %s', async (_, [from = '', to = '', code = ''], heads) => {
    const { env } = await deployed({ Deliver: deliver('a', from) }, {});
    const line = ['upgrade', '--check', '--static', '--deployment', 'Shop', '--templates'];
    const next = assemblyOf('ShopPipeline', { Deliver: deliver(code, to) });
    const { stdout } = await posthaste([...line, next], { env });
    expect([...stdout.matchAll(/^(\w.*):\n- /gm)].map(([, head]) => head)).toEqual(heads);
    expect(stdout.includes('- Lines of rate limits, in whole microseconds: an earlier version')).toBe(
      heads.length > 0,
    );
  });

  it.each([
    ['aws://111122223333/eu-central-1', undefined],
    ['aws://unknown-account/eu-central-1', undefined],
    ['aws://111122223333/us-east-1', 'no stack ShopPipeline'],
    ['aws://999900001111/eu-central-1', 'no stack ShopPipeline'],
  ])('compares a stack for %s: refusal %s', async (environment, refused) => {
    const { env } = await deployed(RESOURCES, {});
    const line = ['upgrade', '--check', '--static', '--deployment', 'Shop', '--templates'];
    const next = assemblyOf('ShopPipeline', RESOURCES, 'assembly-Prod', environment);
    const { status, stderr } = await posthaste([...line, next], { env });
    expect(status).toBe(refused === undefined ? 0 : 1);
    expect(stderr).toContain(refused ?? '');
  });

  it('refuses templates of another deployment, and a folder that is none of cdk synth', async () => {
    const { env } = await deployed(RESOURCES, {});
    const line = ['upgrade', '--check', '--deployment', 'Shop', '--templates'];
    const other = await posthaste([...line, assemblyOf('OtherPipeline', RESOURCES)], { env });
    expect(other).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no stack ShopPipeline') as string,
    });
    const none = await posthaste([...line, temporaryFolder()], { env });
    expect(none).toMatchObject({ status: 1, stderr: expect.stringContaining('no manifest.json') as string });
  });
});
