import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commandName } from '../../../local/command-name.ts';
import {
  deploymentsIn,
  outputsOfApp,
  buildEndpoints,
  removeEndpoints,
  writeEndpoints,
} from '../../../local/endpoints.ts';
import { environmentWithoutAws, plainEnvironment } from '../../../local/local-aws.ts';
import { localEndpoints } from '../../support/local-endpoints.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const { endpoint, accessKeyId, secretAccessKey, functions, ...resources } = localEndpoints;

/** Each output is named as its field, with a capital letter. */
const outputOf = (name: string, value: string) =>
  [name.charAt(0).toUpperCase() + name.slice(1), value] as const;
const outputs: Record<string, string | undefined> = {
  ...Object.fromEntries(Object.entries(resources).map((field) => outputOf(...field))),
  ...Object.fromEntries(Object.entries(functions).map(([name, value]) => outputOf(`${name}Function`, value))),
  ApiId: 'abc123',
  ApiUrl: 'http://abc123.execute-api.127.0.0.1:4566',
};
const emulator = { endpoint, keys: { accessKeyId, secretAccessKey } };
const endpoints = buildEndpoints(emulator, outputs);

describe('the endpoints of a deployed system', () => {
  it('contain the stack outputs, with an API address that resolves locally', () => {
    expect(endpoints).toEqual(localEndpoints);
  });

  it('cannot be built without a stack output, which the error names', () => {
    expect(() => buildEndpoints(emulator, { ...outputs, ScheduleGroup: undefined })).toThrow(/ScheduleGroup/);
  });

  it('are written atomically for their owner only, even after an interrupted write, and can be removed', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'endpoints.json');
    writeFileSync(`${file}.partial`, '{"endp', { mode: 0o644 });
    writeEndpoints(file, endpoints);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(endpoints);
    expect(readdirSync(folder)).toEqual(['endpoints.json']);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    removeEndpoints(file);
    removeEndpoints(file);
    expect(existsSync(file)).toBe(false);
  });
});

const construct = (path: string, name: string) => ({
  [`${path}PosthasteDeployment0A1B2C3D`]: name,
  [`${path}ApiUrl4E5F6789`]: `api of ${name}`,
});

describe('the outputs of the app of a start', () => {
  it('are those below its construct, by their plain names', () => {
    const stacks = [
      { ApiUrl: 'of another construct' },
      { Url: 'of the shop', ...construct('ShopWebhooks', 'Shop') },
    ];
    expect(outputsOfApp(stacks)).toMatchObject({ ApiUrl: 'api of Shop' });
  });

  it('are found below the id Default, which CDK leaves out together with the hash', () => {
    const stack = { PosthasteDeployment: 'Shop', ApiUrl: 'api of Shop' };
    expect(deploymentsIn([stack])).toEqual([{ name: 'Shop', outputs: stack, stack }]);
  });

  it('do not exist without a deployment, and are ambiguous with several', () => {
    expect(() => outputsOfApp([{ Url: 'of the shop' }])).toThrow(/no deployment of Posthaste/);
    const several = [{ ...construct('Webhooks', 'Shop'), ...construct('Hooks', 'Bank') }];
    expect(() => outputsOfApp(several)).toThrow(/several deployments of Posthaste \(Shop, Bank\)/);
  });
});

it.each([
  ['posthaste', '/usr/local/bin/posthaste', false],
  ['posthaste', '/usr/local/bin/posthaste', true],
  ['npm run -s posthaste --', '/home/me/posthaste/cli/posthaste.mjs', false],
  ['npx posthaste', '/home/me/app/node_modules/.bin/posthaste', true],
  ['npx posthaste', undefined, true],
])('the command in advice is one that can be pasted: %s for %s', (command, program, packaged) => {
  expect(commandName(program, packaged)).toBe(command);
});

it.each([
  ['the CDK and the functions', plainEnvironment],
  ['a CDK app', environmentWithoutAws],
])('the AWS profile of the user does not reach %s of a start', (_, environment) => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('AWS_PROFILE', 'production');
  expect(environment()).not.toHaveProperty('AWS_PROFILE');
});
