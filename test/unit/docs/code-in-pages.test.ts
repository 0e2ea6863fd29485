import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { addWorker } from '../../../cli/commands/worker/worker.ts';
import { terminalIn } from '../../../cli/terminal.ts';
import { localFolder } from '../../../local/install/paths.mjs';
import { awsEnvironment } from '../../../local/local-aws.ts';
import { loopbackPort } from '../../../local/loopback-port.ts';
import {
  makeSecret,
  publicKeyText,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { eventually } from '../../support/eventually.ts';
import { ingressStub } from '../../support/ingress-stub.ts';
import { requestFor } from '../../support/request-for.ts';

describe('the code in the pages', () => {
  /** The first piece of code of a page, after a text. */
  const codeIn = (page: string, after: string): string => {
    const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
    const [, code] = /```(?:js|ts)\n(.*?)```/s.exec(text.slice(text.indexOf(after))) ?? [];
    if (code === undefined) throw new Error(`docs/${page} has no code after ${after}`);
    return code;
  };

  let folder: string;

  beforeAll(() => {
    // Inside the project, so that the snippets can import packages.
    mkdirSync(localFolder, { recursive: true });
    folder = mkdtempSync(join(localFolder, 'snippets-'));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const written = (name: string, source: string): string => {
    const file = join(folder, name);
    writeFileSync(file, source);
    return file;
  };

  const requestOf = async (secret: SigningSecret) => {
    const request = await requestFor(aMessage({ data: '"é"' }), aSubscription(), {
      startedAt: Date.now(),
      userAgent: 'Posthaste/test',
      secrets: [secret],
    });
    return { ...request, body: request.body.toString() };
  };

  describe('the receiver for Node.js in docs/api.md', () => {
    const shared = makeSecret('v1', randomBytes);
    const asymmetric = makeSecret('v1a', randomBytes);
    let receiver: ChildProcess;
    let url: string;

    beforeAll(async () => {
      const port = await loopbackPort();
      url = `http://127.0.0.1:${port}/`;
      const keys = [secretText(shared), publicKeyText(asymmetric)].join(' ');
      receiver = spawn(process.execPath, [written('receiver.mjs', codeIn('api.md', '## Verify a request'))], {
        env: { ...process.env, PORT: String(port), WEBHOOK_KEYS: keys },
        stdio: 'ignore',
      });
      await eventually('the receiver', () =>
        fetch(url).then(
          () => true,
          () => undefined,
        ),
      );
    });

    afterAll(() => {
      receiver.kill();
    });

    const answerTo = async (request: { headers: Record<string, string>; body: string }): Promise<number> => {
      const { headers, body } = request;
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };

    it('accepts requests signed by either scheme, and refuses changed ones, unsigned ones, and those of other keys', async () => {
      for (const secret of [shared, asymmetric]) {
        const request = await requestOf(secret);
        const { 'webhook-signature': _, ...unsigned } = request.headers;
        expect(await answerTo(request)).toBe(204);
        expect(await answerTo({ ...request, body: `${request.body} ` })).toBe(401);
        expect(await answerTo({ ...request, headers: unsigned })).toBe(401);
        expect(await answerTo(await requestOf(makeSecret(secret.scheme, randomBytes)))).toBe(401);
      }
    });
  });

  describe('the producer in docs/client.md', () => {
    afterAll(() => {
      vi.unstubAllEnvs();
    });

    it('publishes a message of its type', async () => {
      const { batches, config, queueUrl, close } = await ingressStub();
      vi.stubEnv('INGRESS_QUEUE_URL', queueUrl);
      for (const [name, value] of Object.entries(awsEnvironment(config.endpoint, config.credentials)))
        vi.stubEnv(name, value);
      await import(written('producer.ts', codeIn('client.md', '# Publish')));
      expect(batches.flat().map(({ MessageBody }) => JSON.parse(MessageBody) as unknown)).toEqual([
        { queue: 'orders', id: 'order-17-created', type: 'order.created', data: { total: 1250 } },
      ]);
      await close();
    });
  });
});

const example = (name: string): string =>
  readFileSync(new URL(`../../../examples/worker/${name}`, import.meta.url), 'utf8');

const files = ['Containerfile', 'kubernetes.yaml', 'posthaste-worker.service'];

const command = new Command('worker');
addWorker(command, terminalIn(process));
const known = command.options.map(({ long }) => long);

/** The number behind the first match, in seconds. */
const secondsIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

describe('the examples of a worker', () => {
  it.each(files)('start it in %s with options that it has', (file) => {
    const commands = example(file)
      .split('\n')
      .filter((line) => /ENTRYPOINT|args:|ExecStart|posthaste worker/.test(line));
    const options = commands.flatMap((line) => line.match(/--[a-z-]+/g) ?? []);
    const ofOthers = ['--env-file'];
    expect(options.length).toBeGreaterThan(0);
    expect(options.filter((option) => !known.includes(option) && !ofOthers.includes(option))).toEqual([]);
  });

  it.each([
    ['kubernetes.yaml', /terminationGracePeriodSeconds: (\d+)/, /'--shutdown-seconds', '(\d+)'/],
    ['posthaste-worker.service', /TimeoutStopSec=(\d+)/, /--shutdown-seconds (\d+)/],
  ])('give the worker in %s longer to end than it takes', (file, limit, shutdown) => {
    const text = example(file);
    expect(secondsIn(text, limit)).toBeGreaterThan(secondsIn(text, shutdown));
  });

  it('probe the health routes that the container serves', () => {
    expect(example('Containerfile')).toContain('"--health-port", "8080"');
    expect(example('kubernetes.yaml')).toContain('containerPort: 8080');
    expect(example('kubernetes.yaml').match(/path: (\S+),/g)).toEqual(['path: /health,', 'path: /ready,']);
  });
});
