import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localFolder } from '../../../local/install/paths.mjs';
import { loopbackPort } from '../../../local/loopback-port.ts';
import {
  makeSecret,
  publicKeyText,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { webhookRequest } from '../../../shared/domain/delivery/webhook-request.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { eventually } from '../../support/eventually.ts';

const [receiverSource = '', v1aSource = ''] = [
  ...(readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')
    .split('## Verify a request')[1]
    ?.matchAll(/```js\n(.*?)```/gs) ?? []),
].map(([, source]) => source);

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

const requestOf = (secret: SigningSecret) => {
  const request = webhookRequest(aMessage({ data: '"é"' }), aSubscription(), {
    startedAt: Date.now(),
    userAgent: 'Posthaste/test',
    secrets: [secret],
  });
  return { ...request, body: request.body.toString() };
};

describe('the receiver for Node.js in docs/api.md', () => {
  const secret = makeSecret('v1', randomBytes);
  let receiver: ChildProcess;
  let url: string;

  beforeAll(async () => {
    const port = await loopbackPort();
    url = `http://127.0.0.1:${port}/`;
    receiver = spawn(process.execPath, [written('receiver.mjs', receiverSource)], {
      env: { ...process.env, PORT: String(port), WEBHOOK_SECRET: secretText(secret) },
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

  it('accepts a signed request, and refuses a changed one, one signed with another secret, and an unsigned one', async () => {
    const request = requestOf(secret);
    const { 'webhook-signature': signature, ...unsigned } = request.headers;
    expect(signature).toMatch(/^v1,/);
    expect(await answerTo(request)).toBe(204);
    expect(await answerTo({ ...request, body: `${request.body} ` })).toBe(401);
    expect(await answerTo(requestOf(makeSecret('v1', randomBytes)))).toBe(401);
    expect(await answerTo({ ...request, headers: unsigned })).toBe(401);
  });
});

describe('the check of v1a signatures in docs/api.md', () => {
  const isOursSchema = z.object({
    isOurs: z.function({
      input: [z.string(), z.record(z.string(), z.string()), z.instanceof(Buffer)],
      output: z.boolean(),
    }),
  });

  it('accepts a signature by the right key for the unchanged body only', async () => {
    const { isOurs } = isOursSchema.parse(await import(written('v1a.mjs', v1aSource)));
    const secret = makeSecret('v1a', randomBytes);
    const publicKey = publicKeyText(secret) ?? '';
    const { headers, body } = requestOf(secret);
    expect(isOurs(publicKey, headers, Buffer.from(body))).toBe(true);
    expect(isOurs(publicKey, headers, Buffer.from(`${body} `))).toBe(false);
    expect(isOurs(publicKey, requestOf(makeSecret('v1a', randomBytes)).headers, Buffer.from(body))).toBe(
      false,
    );
  });
});
