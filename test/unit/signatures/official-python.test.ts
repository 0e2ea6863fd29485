import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { SigningScheme } from '../../../shared/domain/subscription/vocabulary.ts';
import {
  makeSecret,
  publicKeyText,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { webhookRequest, type WebhookRequest } from '../../../shared/domain/delivery/webhook-request.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { pythonWithPackages } from '../../support/python-packages.ts';
import { standardBody } from '../../../shared/domain/message/payload.ts';

/**
 * Requests verified by a receiver in Python: v1 by the PyPI library `standardwebhooks`, which supports only v1; v1a
 * by libsodium, because it is a different ed25519 implementation than the signing one.
 */
const here = fileURLToPath(new URL('.', import.meta.url));

/** The first run downloads 1.5 MB. */
const FIRST_RUN_MS = 120_000;

let verifier: ChildProcessWithoutNullStreams;
let answers: AsyncIterator<string>;
let failure: Promise<string>;

beforeAll(async () => {
  const packages = {
    folder: 'signature-check',
    names: 'standardwebhooks and PyNaCl',
    requirements: join(here, 'requirements.txt'),
  };
  const python = await pythonWithPackages(packages, new AbortController().signal);
  verifier = spawn(python.executable, [join(here, 'verify.py')], { env: python.env });
  answers = createInterface(verifier.stdout)[Symbol.asyncIterator]();
  failure = text(verifier.stderr);
}, FIRST_RUN_MS);

afterAll(() => {
  verifier.stdin.end();
});

type Received = { key: string; request: WebhookRequest };

/** Whether each request verifies with its key. */
const verdictsOf = async (received: readonly Received[]): Promise<boolean[]> => {
  const input = received.map(({ key, request: { headers, body } }) => ({
    key,
    headers,
    body: Buffer.from(body).toString('base64'),
  }));
  verifier.stdin.write(`${JSON.stringify(input)}\n`);
  const answer = await answers.next();
  if (answer.done === true) throw new Error(`Python failed: ${await failure}`);
  return z.array(z.boolean()).parse(JSON.parse(answer.value));
};

const secretOf = (scheme: SigningScheme, fill: number): SigningSecret =>
  makeSecret(scheme, (count) => Buffer.alloc(count, fill));

/** The key that its receiver knows. */
const keyOf = (secret: SigningSecret): string => publicKeyText(secret) ?? secretText(secret);

const sent = (secrets: readonly SigningSecret[], data = '{"total":12345678901234567890}'): WebhookRequest =>
  webhookRequest(aMessage(), { body: Buffer.from(standardBody(aMessage({ data }))) }, aSubscription(), {
    startedAt: Date.now(),
    userAgent: 'Posthaste/test',
    secrets,
  });

const dataText = fc.oneof(
  fc.json(),
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify(text)),
  fc.constant('{ "2": 1e400,\n "1": "\\u00e9\\/ é 🐘 \\ud800" }'),
);

const withHeader = (request: WebhookRequest, name: string, change: (value: string) => string) => ({
  ...request,
  headers: { ...request.headers, [name]: change(request.headers[name] ?? '') },
});

const later = (seconds: string): string => String(Number(seconds) + 1);

describe.each<SigningScheme>(['v1', 'v1a'])('a request signed with %s', (scheme) => {
  const secret = secretOf(scheme, 1);
  const key = keyOf(secret);

  it('is accepted in Python for any data', async () => {
    const requests = fc.sample(dataText, 200).map((data) => ({ key, request: sent([secret], data) }));
    const verdicts = await verdictsOf(requests);
    expect(requests.filter((_, index) => verdicts[index] !== true)).toEqual([]);
    expect(verdicts).toHaveLength(200);
  });

  it.each<[string, (request: WebhookRequest) => WebhookRequest]>([
    [
      'a byte of its body',
      (request) => ({ ...request, body: Buffer.from(request.body.toString().replace('12345', '12346')) }),
    ],
    [
      'a blank after its body',
      (request) => ({ ...request, body: Buffer.from(`${request.body.toString()} `) }),
    ],
    ['its id', (request) => withHeader(request, 'webhook-id', (id) => `${id}1`)],
    ['its timestamp', (request) => withHeader(request, 'webhook-timestamp', later)],
  ])('is refused in Python after a change of %s', async (_what, change) => {
    const request = sent([secret]);
    expect(
      await verdictsOf([
        { key, request },
        { key, request: change(request) },
      ]),
    ).toEqual([true, false]);
  });

  it('is refused in Python with another key', async () => {
    expect(await verdictsOf([{ key: keyOf(secretOf(scheme, 2)), request: sent([secret]) }])).toEqual([false]);
  });

  it('is accepted in Python with the old and the new key during a rotation', async () => {
    const [older, newer, stranger] = [secretOf('v1', 3), secret, secretOf('v1', 4)];
    const request = sent([newer, older]);
    const keys = [older, newer, stranger].map(keyOf);
    expect(await verdictsOf(keys.map((one) => ({ key: one, request })))).toEqual([true, true, false]);
  });
});
