import { chmodSync, existsSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { findDeployment, type DeploymentChoice } from '../../../cli/deployment.ts';
import { removeEndpoints, writeEndpoints } from '../../../local/endpoints.ts';
import { showPresence } from '../../../local/presence.ts';
import { localEndpoints as endpoints } from '../../support/local-endpoints.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { withSdkVariables } from './run-command.ts';
import { OUTPUTS, outputsOfConstruct, stubbedDeployment } from './stubbed-deployment.ts';

const presence = await showPresence();
const present = { ...endpoints, socket: presence.socket };
afterAll(presence.end);

/** The file of a start in an empty folder. */
const emptyFile = () => path.join(temporaryFolder(), 'endpoints.json');
const writtenFile = (content: Parameters<typeof writeEndpoints>[1] = present) => {
  const file = emptyFile();
  writeEndpoints(file, content);
  return file;
};

describe('finding the deployment for a command', () => {
  it.each([{}, { local: true as const }])('uses a running local deployment for %j', async (choice) => {
    const { endpoint, region, accessKeyId, secretAccessKey, ...resources } = endpoints;
    expect(await findDeployment(choice, writtenFile())).toEqual({
      ...resources,
      name: 'the local deployment',
      client: { endpoint, region, credentials: { accessKeyId, secretAccessKey } },
    });
  });

  describe('ignores the file of a start', () => {
    /** What it says on stderr while it refuses. */
    const refusing = async (file: string) => {
      const said = vi.spyOn(console, 'error').mockReturnValue();
      await expect(findDeployment({ local: true }, file)).rejects.toMatchObject({
        name: 'Problem',
        message: expect.stringContaining('No local deployment is running') as unknown,
      });
      const lines = said.mock.calls.map(([line]) => String(line));
      said.mockRestore();
      return { lines, isKept: existsSync(file) };
    };
    const removed = (file: string) =>
      `${file} was left behind by a start that was killed. It is removed, and nothing was sent.`;

    it('that was killed, and others can open its folder: says so once and removes it', async () => {
      const killed = await showPresence();
      chmodSync(path.dirname(killed.socket), 0o755);
      const file = writtenFile({ ...endpoints, socket: killed.socket });
      expect(await refusing(file)).toEqual({ lines: [removed(file)], isKept: false });
      killed.end();
    });

    it('of an earlier version, which has no socket', async () => {
      const file = writtenFile(endpoints);
      expect(await refusing(file)).toEqual({ lines: [removed(file)], isKept: false });
    });

    it('that has ended without removing it', async () => {
      const ended = await showPresence();
      const file = writtenFile({ ...endpoints, socket: ended.socket });
      ended.end();
      expect(await refusing(file)).toEqual({ lines: [removed(file)], isKept: false });
    });

    it('that others can write', async () => {
      const file = writtenFile();
      chmodSync(file, 0o620);
      expect(await refusing(file)).toEqual({ lines: [], isKept: true });
    });

    it('that is a link, which its owner could turn after the check', async () => {
      const file = emptyFile();
      symlinkSync(writtenFile(), file);
      expect(await refusing(file)).toEqual({ lines: [], isKept: true });
    });
  });

  it('is not possible for a start whose socket has too long a path, which leaves nothing behind', async () => {
    const long = mkdtempSync(path.join(temporaryFolder(), 'x'.repeat(100)));
    vi.stubEnv('TMPDIR', long);
    await expect(showPresence()).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringContaining(long) as unknown,
    });
    vi.unstubAllEnvs();
    expect(readdirSync(long)).toEqual([]);
  });

  it('does not change from a local deployment that has stopped to AWS, until AWS is named', async () => {
    const { environment } = await stubbedDeployment();
    const file = writtenFile();
    const find = async (choice: DeploymentChoice) => (await findDeployment(choice, file)).name;
    await withSdkVariables(environment, async () => {
      expect(await find({})).toBe('the local deployment');
      removeEndpoints(file);
      for (const _ of ['the first', 'the second time'])
        await expect(find({})).rejects.toThrow(/used the local deployment.* --deployment Posthaste/);
      expect(await find({ deployment: 'Posthaste' })).toBe('Posthaste');
      expect(await find({})).toBe('Posthaste');
    });
  });

  describe('in stacks of any name', () => {
    const shop = outputsOfConstruct('BackendWebhooks', 'Shop');
    const bank = outputsOfConstruct('Webhooks', 'Bank');

    const findIn = async (
      stacks: Record<string, Record<string, string | undefined>>,
      choice: DeploymentChoice = {},
    ) => {
      const { environment } = await stubbedDeployment({ stacks: { First: {}, ...stacks } });
      return withSdkVariables(environment, () => findDeployment(choice, emptyFile()));
    };

    const both = { Shopping: shop, Banking: bank };
    const others = { WebhooksDeliveriesTable0A1B2C3D: 'not of Shop', DeliveriesTable: 'nor this' };
    const plain = Object.fromEntries(OUTPUTS.map((name) => [name, name]));
    const separate = { PosthasteState: {}, Data: {}, Hooks: { ...plain, PosthasteDeployment: 'Shop' } };

    it.each([
      ['of this name, by the outputs of its construct', both, { deployment: 'Bank' }, 'Bank'],
      ['that is the only one', { Shopping: shop }, {}, 'Shop'],
      ['by the outputs below the construct of its marker', { Shopping: { ...others, ...shop } }, {}, 'Shop'],
      ['in a separate stack, also beside one named as in the built-in app', separate, {}, 'Shop'],
    ])('finds a deployment %s', async (_, stacks, choice, name) => {
      expect(await findIn(stacks, choice)).toMatchObject({
        name,
        place: `${name}, account 111122223333, us-east-1`,
        deliveriesTable: 'DeliveriesTable',
        functions: { api: 'ApiFunction' },
      });
    });

    it.each([
      ['names them if there are several', both, {}, /several deployments .*: Shop, Bank\. .*--deployment/],
      [
        'names them if there is none of this name',
        both,
        { deployment: 'Bakery' },
        /no deployment Bakery .* is: Shop, Bank\./,
      ],
      ['fails with advice if there is none', {}, {}, /no deployment of Posthaste .* run npm start/],
    ])('%s', async (_, stacks, choice, sentence) => {
      await expect(findIn(stacks, choice)).rejects.toThrow(sentence);
    });
  });

  it.each([
    [
      {},
      /^No local deployment is running\. No AWS region is set, .* or AWS_PROFILE, or run npm start in another terminal\.$/,
    ],
    [{ deployment: 'Posthaste' }, /^No AWS region is set, so the deployment Posthaste cannot be looked up\./],
    [{ local: true as const }, /npm start/],
  ])('fails with advice if nothing says where to look, for the choice %j', async (choice, sentence) => {
    const found = withSdkVariables({ HOME: temporaryFolder() }, () => findDeployment(choice, emptyFile()));
    await expect(found).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringMatching(sentence) as unknown,
    });
  });

  it.each(['{"endpoint": "http://127.0.0.1:4566"}', '{"endp'])(
    'fails if the endpoints file is %s',
    async (text) => {
      const file = emptyFile();
      writeFileSync(file, text);
      await expect(findDeployment({}, file)).rejects.toMatchObject({
        name: 'Problem',
        message: `${file} is incomplete, or was written by another version. Stop npm start and run it again.`,
      });
    },
  );
});
