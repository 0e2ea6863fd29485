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
import type { SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { UnopenedSecretError } from '../../../shared/ports/subscriptions.ts';
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

/** A partial KMS: issues data keys, and decrypts them for the context they were made with. */
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
  body: JSON.stringify({ __type: name, message: 'from the test' }),
});

let stub: AwsStub;
let outage: string | undefined;
/** A fixed response of KMS to every request. */
let oddAnswer: object | undefined;
/** KMS ignores the encryption context. */
let isCareless: boolean;
let clock: { time: number; now: () => number };

beforeEach(async () => {
  // No waits between retries.
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
    seal: (owner: SubscriptionKey, sealing: SigningSecret) => sealer.seal(owner, sealing),
    open: (owner: SubscriptionKey, sealed: string) => opener.open(owner, sealed),
  };
};

const secret = makeSecret('v1', randomBytes);

const sealedSecret = async () => {
  const { seal, open } = secrets();
  return { open, sealed: await seal(OWNER, secret) };
};

/** The message of the error of a failed `open`, and the name of its cause. */
const faultOf = async (opening: Promise<unknown>): Promise<unknown[]> => {
  const error: unknown = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UnopenedSecretError))
    throw new Error('It did not fail, or failed with another error.');
  return [error.message, error.cause instanceof Error ? error.cause.name : error.cause];
};

describe('sealing a secret', () => {
  it('requests a separate data key from KMS, with the owner as encryption context', async () => {
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

  it('returns a short text that reveals nothing, a different one each time', async () => {
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

  it('fails if KMS refuses', async () => {
    outage = 'DisabledException';
    await expect(secrets().seal(OWNER, secret)).rejects.toThrow('from the test');
  });

  it('fails if KMS returns no key', async () => {
    oddAnswer = { KeyId: KEY_ARN, CiphertextBlob: 'AA==' };
    await expect(secrets().seal(OWNER, secret)).rejects.toThrow('The KMS response contains no key');
  });
});

describe('opening a secret', () => {
  it.each(['v1', 'v1a'] as const)('returns a %s secret unchanged', async (scheme) => {
    const { seal, open } = secrets();
    const given = makeSecret(scheme, randomBytes);
    const opened = await open(OWNER, await seal(OWNER, given));
    expect([opened.scheme, secretText(opened)]).toEqual([scheme, secretText(given)]);
  });

  it('calls KMS once for concurrent callers, and again after an hour', async () => {
    const { open, sealed } = await sealedSecret();
    await Promise.all(Array.from({ length: 10 }, () => open(OWNER, sealed)));
    clock.time += 60 * MINUTE - 1;
    await open(OWNER, sealed);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
    clock.time += 1;
    await open(OWNER, sealed);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt', 'Decrypt']);
  });

  it('works for an hour while KMS is down, and no longer', async () => {
    const { open, sealed } = await sealedSecret();
    await open(OWNER, sealed);
    outage = 'KMSInternalException';
    clock.time += 60 * MINUTE - 1;
    await open(OWNER, sealed);
    clock.time += 1;
    expect(await faultOf(open(OWNER, sealed))).toEqual([
      'A secret of subscription orders/subscription-1 could not be opened',
      'KMSInternalException',
    ]);
  });

  it('works again as soon as KMS does, because failures are not cached', async () => {
    const { open, sealed } = await sealedSecret();
    outage = 'ThrottlingException';
    await faultOf(open(OWNER, sealed));
    outage = undefined;
    expect(secretText(await open(OWNER, sealed))).toBe(secretText(secret));
  });

  it.each([
    ['queue', { ...OWNER, queue: 'invoices' }],
    ['subscription', { ...OWNER, subscriptionId: 'subscription-2' }],
  ])('for another %s is refused by KMS, and also if KMS ignores the context', async (_what, other) => {
    const { open, sealed } = await sealedSecret();
    expect(await faultOf(open(other, sealed))).toContain('InvalidCiphertextException');
    await open(OWNER, sealed);
    expect(await faultOf(open(other, sealed))).toContain('InvalidCiphertextException');
    isCareless = true;
    expect(await faultOf(open(other, sealed))).toContain('Error');
  });

  it('fails if any byte was changed', async () => {
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
    'fails without calling KMS if the text is malformed: "%s"',
    async (text) => {
      expect(await faultOf(secrets().open(OWNER, text))).toContain('UnreadableSecretError');
      expect(stub.requests).toEqual([]);
    },
  );

  it('fails without a key from KMS, and does not quote an unreadable one', async () => {
    const { open, sealed } = await sealedSecret();
    oddAnswer = { KeyId: KEY_ARN };
    expect(await faultOf(open(OWNER, sealed))).toContain('NoKeyError');
    oddAnswer = { KeyId: KEY_ARN, Plaintext: 'planted secret' };
    const error: unknown = await open(OWNER, sealed).catch((thrown: unknown) => thrown);
    expect(inspect(error, { depth: 20 })).toContain('could not be opened');
    expect(inspect(error, { depth: 20 })).not.toContain('planted secret');
  });

  it('fails without revealing the secret', async () => {
    const { open, sealed } = await sealedSecret();
    await open(OWNER, sealed);
    const error: unknown = await open({ ...OWNER, queue: 'invoices' }, sealed).catch(
      (thrown: unknown) => thrown,
    );
    const printed = inspect(error, { depth: 20 });
    expect(printed).toContain('invoices/subscription-1');
    for (const encoding of ['base64', 'base64url', 'hex'] as const)
      expect(printed).not.toContain(secret.key.export().toString(encoding).replace(/=$/, ''));
  });
});
