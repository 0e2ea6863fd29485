import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { worker as addTo } from '../../../cli/commands/worker/worker.ts';
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
import { aMessage, aSubscription, requestFor } from '../../support/builders.ts';
import { eventually } from '../../support/eventually.ts';
import { ingressStub } from '../../support/ingress-stub.ts';

describe('the code in the pages', () => {
  /** A file in the project with the first piece of code of a page after a text, so that it can import packages. */
  const writtenFrom = (page: string, after: string, name: string): string => {
    const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
    const [, code] = /```(?:js|ts)\n(.*?)```/s.exec(text.slice(text.indexOf(after))) ?? [];
    if (code === undefined) throw new Error(`docs/${page} has no code after ${after}`);
    mkdirSync(localFolder, { recursive: true });
    const folder = mkdtempSync(join(localFolder, 'snippets-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    writeFileSync(join(folder, name), code);
    return join(folder, name);
  };

  it('is a receiver in docs/api.md that accepts requests signed by either scheme, and refuses changed ones, unsigned ones, and those of other keys', async () => {
    const [shared, asymmetric] = [makeSecret('v1', randomBytes), makeSecret('v1a', randomBytes)];
    const port = await loopbackPort();
    const url = `http://127.0.0.1:${port}/`;
    const WEBHOOK_KEYS = [secretText(shared), publicKeyText(asymmetric)].join(' ');
    const file = writtenFrom('api.md', '## Verify a request', 'receiver.mjs');
    const env = { ...process.env, PORT: String(port), WEBHOOK_KEYS };
    const receiver = spawn(process.execPath, [file], { env, stdio: 'ignore' });
    onTestFinished(() => void receiver.kill());
    await eventually('the receiver', () =>
      fetch(url).then(
        () => true,
        () => undefined,
      ),
    );

    const requestOf = async (secret: SigningSecret) => {
      const attempt = { startedAt: Date.now(), userAgent: 'Posthaste/test', secrets: [secret] };
      const { headers, body } = await requestFor(aMessage({ data: '"é"' }), aSubscription(), attempt);
      return { headers, body: body.toString() };
    };
    const answerTo = async (request: { headers: Record<string, string>; body: string }) =>
      (await fetch(url, { method: 'POST', ...request })).status;
    for (const secret of [shared, asymmetric]) {
      const { headers, body } = await requestOf(secret);
      const { 'webhook-signature': _, ...unsigned } = headers;
      expect(await answerTo({ headers, body })).toBe(204);
      expect(await answerTo({ headers, body: `${body} ` })).toBe(401);
      expect(await answerTo({ headers: unsigned, body })).toBe(401);
      expect(await answerTo(await requestOf(makeSecret(secret.scheme, randomBytes)))).toBe(401);
    }
  });

  it('is a producer in docs/client.md that publishes a message of its type', async () => {
    const { batches, config, queueUrl, close } = await ingressStub();
    onTestFinished(close);
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = { ...awsEnvironment(config.endpoint, config.credentials), INGRESS_QUEUE_URL: queueUrl };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    await import(writtenFrom('client.md', '# Publish', 'producer.ts'));
    expect(batches.flat().map(({ MessageBody }) => JSON.parse(MessageBody) as unknown)).toEqual([
      { queue: 'orders', id: 'order-17-created', type: 'order.created', data: { total: 1250 } },
    ]);
  });
});

const example = (name: string): string =>
  readFileSync(new URL(`../../../examples/worker/${name}`, import.meta.url), 'utf8');

/** The number behind the first match, in seconds. */
const secondsIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

describe('the examples of a worker', () => {
  it.each(['Containerfile', 'kubernetes.yaml', 'posthaste-worker.service'])(
    'start it in %s with options that it has',
    (file) => {
      const command = new Command('worker');
      addTo(command, terminalIn(process));
      const lines = example(file).split('\n');
      const commands = lines.filter((line) => /ENTRYPOINT|args:|ExecStart|posthaste worker/.test(line));
      const options = commands.flatMap((line) => line.match(/--[a-z-]+/g) ?? []);
      expect(options.length).toBeGreaterThan(0);
      const known = ['--env-file', ...command.options.map(({ long }) => long)];
      expect(known).toEqual(expect.arrayContaining(options));
    },
  );

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
