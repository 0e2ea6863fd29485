import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { kmsClient, kmsSecretOpener, kmsSecretSealer } from '../../../shared/adapters/kms/signing-secrets.ts';
import {
  makeSecret,
  secretText,
  type SigningSecret,
} from '../../../shared/domain/subscription/signing-secret.ts';
import { UnopenedSecretError, type SecretOwner } from '../../../shared/ports/subscriptions.ts';
import { awsStub, type AwsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';

const KEY_ARN = 'arn:aws:kms:us-east-1:000000000000:key/secrets';
const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };
const MINUTE = 60_000;

const request = z.object({
  KeyId: z.string(),
  KeySpec: z.string().optional(),
  CiphertextBlob: z.string().optional(),
  EncryptionContext: z.record(z.string(), z.string()),
});

/** KMS as far as it is used: hands out data keys, and gives them back for the context they were made for. */
const keyService = () => {
  const made = new Map<string, { plaintext: string; context: string }>();
  return (operation: string, asked: z.infer<typeof request>): StubAnswer => {
    const context = JSON.stringify(Object.entries(asked.EncryptionContext).sort());
    if (operation === 'TrentService.GenerateDataKey') {
      const [plaintext, blob] = [randomBytes(32).toString('base64'), randomBytes(160).toString('base64')];
      made.set(blob, { plaintext, context });
      return answerOf({ KeyId: KEY_ARN, Plaintext: plaintext, CiphertextBlob: blob });
    }
    const found = made.get(asked.CiphertextBlob ?? '');
    return found !== undefined && (isCareless || found.context === context)
      ? answerOf({ KeyId: KEY_ARN, Plaintext: found.plaintext })
      : fault('InvalidCiphertextException');
  };
};

const answerOf = (body: object): StubAnswer => ({
  headers: { 'content-type': 'application/x-amz-json-1.1' },
  body: JSON.stringify(body),
});

const fault = (name: string): StubAnswer => ({
  status: 400,
  headers: { 'content-type': 'application/x-amz-json-1.1' },
  body: JSON.stringify({ __type: name, message: 'told by the test' }),
});

let stub: AwsStub;
let outage: string | undefined;
/** What KMS answers with, whatever it is asked. */
let oddAnswer: object | undefined;
/** KMS looks at no context. */
let isCareless: boolean;
let clock: { time: number; now: () => number };

beforeEach(async () => {
  // No waits between repeats.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  outage = undefined;
  oddAnswer = undefined;
  isCareless = false;
  clock = { time: 0, now: () => clock.time };
  const serve = keyService();
  stub = await awsStub((received) => {
    if (oddAnswer !== undefined) return answerOf(oddAnswer);
    return outage === undefined
      ? serve(operationOf(received), request.parse(JSON.parse(received.body)))
      : fault(outage);
  });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await stub.close();
});

const operationOf = ({ headers }: StubRequest): string => String(headers['x-amz-target']);
const operations = (): string[] => stub.requests.map((one) => operationOf(one).replace('TrentService.', ''));

const secrets = () => {
  const kms = kmsClient(stub.config);
  const sealer = kmsSecretSealer(kms, KEY_ARN);
  const opener = kmsSecretOpener(kms, { keyArn: KEY_ARN, clock });
  return {
    seal: (owner: SecretOwner, sealing: SigningSecret) => sealer.seal(owner, sealing),
    open: (owner: SecretOwner, sealed: string) => opener.open(owner, sealed),
  };
};

const secret = makeSecret('v1', randomBytes);

/** What an attempt to open comes to: the error and the errors behind it, by their names. */
const faultOf = async (opening: Promise<unknown>): Promise<unknown[]> => {
  const error: unknown = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UnopenedSecretError)) throw new Error('It was opened, or failed otherwise.');
  return [error.message, error.cause instanceof Error ? error.cause.name : error.cause];
};

describe('sealing a secret', () => {
  it('asks KMS for a data key of its own, with the owner as encryption context', async () => {
    const { seal } = secrets();
    await seal(OWNER, secret);
    await seal(OWNER, secret);
    expect(stub.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual(
      Array.from({ length: 2 }, () => ({
        KeyId: KEY_ARN,
        KeySpec: 'AES_256',
        EncryptionContext: { queue: 'orders', subscription: 'subscription-1' },
      })),
    );
    expect(operations()).toEqual(['GenerateDataKey', 'GenerateDataKey']);
  });

  it('gives a text that holds nothing of it, another one each time, and short', async () => {
    const { seal } = secrets();
    const sealed = await Promise.all([seal(OWNER, secret), seal(OWNER, secret)]);
    expect(new Set(sealed).size).toBe(2);
    for (const text of sealed) {
      expect(text).toMatch(/^1\.[\w-]+\.[\w-]+$/);
      expect(text.length).toBeLessThan(500);
      expect(Buffer.from(text, 'base64url').includes(secret.key.export())).toBe(false);
      expect(text).not.toContain(secretText(secret).slice(6, 20));
    }
  });

  it('that KMS refuses is an error', async () => {
    outage = 'DisabledException';
    await expect(secrets().seal(OWNER, secret)).rejects.toThrow('told by the test');
  });

  it('to which KMS gives no key is an error', async () => {
    oddAnswer = { KeyId: KEY_ARN, CiphertextBlob: 'AA==' };
    await expect(secrets().seal(OWNER, secret)).rejects.toThrow('The KMS response contains no key');
  });
});

describe('opening a secret', () => {
  it.each(['v1', 'v1a'] as const)('gives a %s one back as it was', async (scheme) => {
    const { seal, open } = secrets();
    const given = makeSecret(scheme, randomBytes);
    const opened = await open(OWNER, await seal(OWNER, given));
    expect([opened.scheme, secretText(opened)]).toEqual([scheme, secretText(given)]);
  });

  it('asks KMS once, however many ask at a time, and once more after an hour', async () => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    await Promise.all(Array.from({ length: 10 }, () => open(OWNER, sealed)));
    clock.time += 60 * MINUTE - 1;
    await open(OWNER, sealed);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
    clock.time += 1;
    await open(OWNER, sealed);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt', 'Decrypt']);
  });

  it('goes on for an hour while KMS is out, and no longer', async () => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    await open(OWNER, sealed);
    outage = 'KMSInternalException';
    clock.time += 60 * MINUTE - 1;
    await open(OWNER, sealed);
    clock.time += 1;
    expect(await faultOf(open(OWNER, sealed))).toEqual([
      'The signing secret of subscription orders/subscription-1 could not be opened',
      'KMSInternalException',
    ]);
  });

  it('succeeds as soon as KMS does: a failure is not remembered', async () => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    outage = 'ThrottlingException';
    await faultOf(open(OWNER, sealed));
    outage = undefined;
    expect(secretText(await open(OWNER, sealed))).toBe(secretText(secret));
  });

  it.each([
    ['queue', { ...OWNER, queue: 'invoices' }],
    ['subscription', { ...OWNER, subscriptionId: 'subscription-2' }],
  ])('for another %s is refused, by KMS, and by us were KMS not to look', async (_what, other) => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    expect(await faultOf(open(other, sealed))).toContain('InvalidCiphertextException');
    await open(OWNER, sealed);
    expect(await faultOf(open(other, sealed))).toContain('InvalidCiphertextException');
    isCareless = true;
    expect(await faultOf(open(other, sealed))).toContain('Error');
  });

  it('that somebody changed is refused, whichever byte it was', async () => {
    const { seal, open } = secrets();
    const [version = '', dataKey = '', box = ''] = (await seal(OWNER, secret)).split('.');
    await open(OWNER, [version, dataKey, box].join('.'));
    const bytes = Buffer.from(box, 'base64url');
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      await faultOf(open(OWNER, [version, dataKey, changed.toString('base64url')].join('.')));
    }
    for (const length of [0, 1, 11, 12, 27, 28, bytes.length - 1])
      await faultOf(
        open(OWNER, [version, dataKey, bytes.subarray(0, length).toString('base64url')].join('.')),
      );
  });

  it.each(['', '1', '1.a', '2.a.b', '1.a.b.c'])(
    'that is none is refused without asking KMS: "%s"',
    async (text) => {
      expect(await faultOf(secrets().open(OWNER, text))).toContain('UnreadableSecretError');
      expect(stub.requests).toEqual([]);
    },
  );

  it('fails without a key of KMS, and quotes none that cannot be read', async () => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    oddAnswer = { KeyId: KEY_ARN };
    expect(await faultOf(open(OWNER, sealed))).toContain('NoKeyError');
    oddAnswer = { KeyId: KEY_ARN, Plaintext: 'planted secret' };
    const error: unknown = await open(OWNER, sealed).catch((thrown: unknown) => thrown);
    expect(inspect(error, { depth: 20 })).toContain('could not be opened');
    expect(inspect(error, { depth: 20 })).not.toContain('planted secret');
  });

  it('fails without a word of the secret', async () => {
    const { seal, open } = secrets();
    const sealed = await seal(OWNER, secret);
    await open(OWNER, sealed);
    const error: unknown = await open({ ...OWNER, queue: 'invoices' }, sealed).catch(
      (thrown: unknown) => thrown,
    );
    const told = inspect(error, { depth: 20 });
    expect(told).toContain('invoices/subscription-1');
    for (const encoding of ['base64', 'base64url', 'hex'] as const)
      expect(told).not.toContain(secret.key.export().toString(encoding).replace(/=$/, ''));
  });
});
