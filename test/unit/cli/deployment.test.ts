import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { findDeployment, type DeploymentChoice } from '../../../cli/deployment.ts';
import { removeEndpoints, writeEndpoints } from '../../../local/endpoints.ts';
import { showPresence } from '../../../local/presence.ts';
import { localEndpoints as endpoints } from '../../support/local-endpoints.ts';
import { replaceSdkVariables, withSdkVariables } from './run-command.ts';
import { OUTPUTS, outputsOfConstruct, stubbedDeployment } from './stubbed-deployment.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'deployment-'));
const presence = await showPresence();
const present = { ...endpoints, socket: presence.socket };
afterAll(() => {
  presence.end();
  rmSync(folder, { recursive: true });
});

describe('finding the deployment for a command', () => {
  it.each([{}, { local: true as const }])(
    'uses a running local deployment for the choice %j',
    async (choice) => {
      const file = path.join(folder, 'endpoints.json');
      writeEndpoints(file, present);
      const { endpoint, region, accessKeyId, secretAccessKey, ...resources } = endpoints;
      expect(await findDeployment(choice, file)).toEqual({
        ...resources,
        name: 'the local deployment',
        client: { endpoint, region, credentials: { accessKeyId, secretAccessKey } },
      });
    },
  );

  describe('ignores the file of a start', () => {
    const found = async (file: string) => {
      const said = vi.spyOn(console, 'error').mockReturnValue();
      const error: unknown = await findDeployment({ local: true }, file).catch((cause: unknown) => cause);
      const lines = said.mock.calls.map(([line]) => String(line));
      said.mockRestore();
      return { error, lines };
    };
    const isNotRunning = {
      name: 'Problem',
      message: expect.stringContaining('No local deployment is running') as unknown,
    };

    it.each([
      ['that was killed, and others can open its folder', () => showPresence()],
      ['of an earlier version, which has no socket', () => undefined],
    ])('%s: says so once and removes it', async (_, begin) => {
      const file = path.join(folder, 'stale.json');
      const killed = await begin();
      if (killed !== undefined) chmodSync(path.dirname(killed.socket), 0o755);
      writeEndpoints(file, killed === undefined ? endpoints : { ...endpoints, socket: killed.socket });
      expect(await found(file)).toMatchObject({
        error: isNotRunning,
        lines: [`${file} was left behind by a start that was killed. It is removed, and nothing was sent.`],
      });
      expect(existsSync(file)).toBe(false);
      killed?.end();
    });

    it('that has ended without removing it', async () => {
      const file = path.join(folder, 'ended.json');
      const ended = await showPresence();
      writeEndpoints(file, { ...endpoints, socket: ended.socket });
      ended.end();
      expect(await found(file)).toMatchObject({ error: isNotRunning, lines: [expect.any(String)] });
    });

    it('that others can write', async () => {
      const file = path.join(folder, 'writable.json');
      writeEndpoints(file, present);
      chmodSync(file, 0o620);
      expect(await found(file)).toMatchObject({ error: isNotRunning, lines: [] });
      expect(existsSync(file)).toBe(true);
    });

    it('that is a link, which its owner could turn after the check', async () => {
      const file = path.join(folder, 'link.json');
      writeEndpoints(path.join(folder, 'target.json'), present);
      symlinkSync('target.json', file);
      expect(await found(file)).toMatchObject({ error: isNotRunning, lines: [] });
    });
  });

  it('is not possible for a start whose socket has too long a path, which leaves nothing behind', async () => {
    const long = mkdtempSync(path.join(folder, 'x'.repeat(100)));
    vi.stubEnv('TMPDIR', long);
    await expect(showPresence()).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringContaining(long) as unknown,
    });
    vi.unstubAllEnvs();
    expect(readdirSync(long)).toEqual([]);
  });

  it('does not change from a local deployment that has stopped to AWS, until AWS is named', async () => {
    const stub = await stubbedDeployment({ bodies: [], sentAt: 0 });
    const file = path.join(folder, 'stopped', 'endpoints.json');
    writeEndpoints(file, present);
    const find = async (choice: DeploymentChoice) => (await findDeployment(choice, file)).name;
    const restore = replaceSdkVariables(stub.environment);
    try {
      expect(await find({})).toBe('the local deployment');
      removeEndpoints(file);
      for (const _ of ['the first', 'the second time'])
        await expect(find({})).rejects.toMatchObject({
          message: expect.stringMatching(/used the local deployment.* --deployment Posthaste/) as unknown,
        });
      expect(await find({ deployment: 'Posthaste' })).toBe('Posthaste');
      expect(await find({})).toBe('Posthaste');
    } finally {
      restore();
    }
  });

  describe('in stacks of any name', () => {
    const shop = outputsOfConstruct('BackendWebhooks', 'Shop');
    const bank = outputsOfConstruct('Webhooks', 'Bank');

    const findIn = async (
      stacks: Record<string, Record<string, string | undefined>>,
      deployment?: string,
    ) => {
      const stub = await stubbedDeployment({ bodies: [], sentAt: 0, stacks: { First: {}, ...stacks } });
      return withSdkVariables(stub.environment, () =>
        findDeployment(
          deployment === undefined ? {} : { deployment },
          path.join(folder, 'never-used', 'nowhere.json'),
        ),
      );
    };

    it('finds the deployment of this name by the outputs of its construct', async () => {
      expect(await findIn({ Shopping: shop, Banking: bank }, 'Bank')).toMatchObject({
        name: 'Bank',
        place: 'Bank, account 111122223333, us-east-1',
        deliveriesTable: 'DeliveriesTable',
        functions: { api: 'ApiFunction' },
      });
    });

    it('finds the only one without its name', async () => {
      expect(await findIn({ Shopping: shop })).toMatchObject({ name: 'Shop' });
    });

    it('takes each output from below the construct of the marker', async () => {
      const others = { WebhooksDeliveriesTable0A1B2C3D: 'not of Shop', DeliveriesTable: 'nor this' };
      expect(await findIn({ Shopping: { ...others, ...shop } })).toMatchObject({
        deliveriesTable: 'DeliveriesTable',
      });
    });

    it('names them if there are several, or none of this name', async () => {
      const both = { Shopping: shop, Banking: bank };
      await expect(findIn(both)).rejects.toThrow(/several deployments .*: Shop, Bank\. .*--deployment/);
      await expect(findIn(both, 'Bakery')).rejects.toThrow(/no deployment Bakery .* There is: Shop, Bank\./);
    });

    it('fails with advice if there is none', async () => {
      await expect(findIn({})).rejects.toThrow(/no deployment of Posthaste .* run npm start/);
    });

    it('finds a pipeline in a separate stack, also beside a stack with a name of the built-in app', async () => {
      const hooks = {
        ...Object.fromEntries(OUTPUTS.map((name) => [name, name])),
        PosthasteDeployment: 'Shop',
      };
      expect(await findIn({ PosthasteState: {}, Data: {}, Hooks: hooks })).toMatchObject({
        name: 'Shop',
        deliveriesTable: 'DeliveriesTable',
      });
    });
  });

  it('fails for --local if no local deployment is running', async () => {
    const found = findDeployment({ local: true }, path.join(folder, 'nowhere.json'));
    await expect(found).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringContaining('npm start') as unknown,
    });
  });

  it.each([
    [
      {},
      /^No local deployment runs, and no AWS region is set\. Run npm start in another terminal, or set AWS_REGION/,
    ],
    [{ deployment: 'Posthaste' }, /^No AWS region is set, so the deployment Posthaste cannot be looked up\./],
  ])('fails with advice if nothing says where to look, for the choice %j', async (choice, sentence) => {
    const found = withSdkVariables({ HOME: folder }, () =>
      findDeployment(choice, path.join(folder, 'never-used', 'nowhere.json')),
    );
    await expect(found).rejects.toMatchObject({
      name: 'Problem',
      message: expect.stringMatching(sentence) as unknown,
    });
  });

  it.each(['{"endpoint": "http://127.0.0.1:4566"}', '{"endp'])(
    'fails if the endpoints file is %s',
    async (text) => {
      const file = path.join(folder, 'other.json');
      writeFileSync(file, text);
      await expect(findDeployment({}, file)).rejects.toMatchObject({
        name: 'Problem',
        message: `${file} is incomplete, or was written by another version. Stop npm start and run it again.`,
      });
    },
  );
});
