import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { kmsClient, kmsSecretOpener, kmsSecretSealer } from '../../../shared/adapters/kms/signing-secrets.ts';
import { makeSecret, secretText } from '../../../shared/domain/subscription/signing-secret.ts';
import {
  type SecretOpener,
  type SecretSealer,
  UnopenedSecretError,
} from '../../../shared/ports/subscriptions.ts';
import type { StubAnswer } from '../../support/aws-stub.ts';
import { fault, ok, operationOf, serviceThat } from './service.ts';

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
    if (operation === 'GenerateDataKey') {
      const [plaintext, blob] = [randomBytes(32).toString('base64'), randomBytes(160).toString('base64')];
      made.set(blob, { plaintext, context });
      return ok({ KeyId: KEY_ARN, Plaintext: plaintext, CiphertextBlob: blob });
    }
    const found = made.get(asked.CiphertextBlob ?? '');
    return found !== undefined && (isCareless || found.context === context)
      ? ok({ KeyId: KEY_ARN, Plaintext: found.plaintext })
      : fault(400, 'InvalidCiphertextException');
  };
};

let stub: Awaited<ReturnType<typeof serviceThat>>;
/** A fixed response of KMS to every request. */
let answer: StubAnswer | undefined;
/** KMS ignores the encryption context. */
let isCareless: boolean;
let clock: { time: number; now: () => number };
let secrets: SecretOpener & SecretSealer;
let sealed: string;
const secret = makeSecret('v1', randomBytes);

beforeEach(async () => {
  // No waits between retries.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  answer = undefined;
  isCareless = false;
  clock = { time: 0, now: () => clock.time };
  const serve = keyService();
  stub = await serviceThat(
    (received) => answer ?? serve(operationOf(received), request.parse(JSON.parse(received.body))),
  );
  const kms = kmsClient(stub.config);
  secrets = { ...kmsSecretSealer(kms, KEY_ARN), ...kmsSecretOpener(kms, { keyArn: KEY_ARN, clock }) };
  sealed = await secrets.seal(OWNER, secret);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const operations = (): string[] => stub.requests.map(operationOf);

const open = (text = sealed, owner = OWNER) => secrets.open(owner, text);

/** The message of the error of a failed `open`, and the name of its cause. */
const faultOf = async (opening: Promise<unknown>): Promise<unknown[]> => {
  const error: unknown = await opening.catch((thrown: unknown) => thrown);
  if (!(error instanceof UnopenedSecretError))
    throw new Error('It did not fail, or failed with another error.');
  return [error.message, error.cause instanceof Error ? error.cause.name : error.cause];
};

describe('sealing a secret', () => {
  it('requests a separate data key from KMS, with the owner as encryption context', async () => {
    await secrets.seal(OWNER, secret);
    expect(stub.sent()).toEqual(
      Array.from({ length: 2 }, () => ({
        KeyId: KEY_ARN,
        KeySpec: 'AES_256',
        EncryptionContext: { queue: 'orders', subscription: 'subscription-1' },
      })),
    );
    expect(operations()).toEqual(['GenerateDataKey', 'GenerateDataKey']);
  });

  it('returns a short text that does not contain the secret', () => {
    expect(sealed).toMatch(/^1\.[\w-]+\.[\w-]+$/);
    expect(sealed.length).toBeLessThan(500);
    expect(Buffer.from(sealed, 'base64url').includes(secret.key.export())).toBe(false);
  });

  it.each([
    ['KMS refuses', fault(400, 'DisabledException'), 'from the test'],
    ['KMS returns no key', ok({ KeyId: KEY_ARN, CiphertextBlob: 'AA==' }), 'contains no key'],
  ])('fails if %s', async (_what, given, message) => {
    answer = given;
    await expect(secrets.seal(OWNER, secret)).rejects.toThrow(message);
  });
});

describe('opening a secret', () => {
  it('calls KMS once for concurrent callers, and again after an hour', async () => {
    await Promise.all(Array.from({ length: 10 }, () => open()));
    clock.time += 60 * MINUTE - 1;
    await open();
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
    clock.time += 1;
    await open();
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt', 'Decrypt']);
  });

  it('works for an hour while KMS is down, no longer, and again as soon as KMS does', async () => {
    await open();
    answer = fault(400, 'KMSInternalException');
    clock.time += 60 * MINUTE - 1;
    await open();
    clock.time += 1;
    expect(await faultOf(open())).toEqual([
      'A secret of subscription orders/subscription-1 could not be opened',
      'KMSInternalException',
    ]);
    answer = undefined;
    expect(secretText(await open())).toBe(secretText(secret));
  });

  it.each([
    ['queue', { ...OWNER, queue: 'invoices' }],
    ['subscription', { ...OWNER, subscriptionId: 'subscription-2' }],
  ])('for another %s is refused by KMS, and also if KMS ignores the context', async (_what, other) => {
    await open();
    expect(await faultOf(open(sealed, other))).toContain('InvalidCiphertextException');
    isCareless = true;
    expect(await faultOf(open(sealed, other))).toContain('Error');
  });

  it('fails if any byte was changed', async () => {
    const [version = '', dataKey = '', box = ''] = sealed.split('.');
    const openBox = (bytes: Buffer) => open([version, dataKey, bytes.toString('base64url')].join('.'));
    const bytes = Buffer.from(box, 'base64url');
    await openBox(bytes);
    for (const index of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
      await faultOf(openBox(changed));
    }
    for (const length of [0, 1, 11, 12, 27, 28, bytes.length - 1])
      await faultOf(openBox(bytes.subarray(0, length)));
  });

  it.each(['', '1', '1.a', '2.a.b', '1.a.b.c'])(
    'fails without calling KMS if the text is malformed: "%s"',
    async (text) => {
      expect(await faultOf(open(text))).toContain('UnreadableSecretError');
      expect(operations()).toEqual(['GenerateDataKey']);
    },
  );

  it('fails without a key from KMS, and does not quote an unreadable one', async () => {
    answer = ok({ KeyId: KEY_ARN });
    expect(await faultOf(open())).toContain('NoKeyError');
    answer = ok({ KeyId: KEY_ARN, Plaintext: 'planted secret' });
    const printed = inspect(await open().catch((thrown: unknown) => thrown), { depth: 20 });
    expect(printed).toContain('could not be opened');
    expect(printed).not.toContain('planted secret');
  });

  it('fails without revealing the secret', async () => {
    await open();
    const opening = open(sealed, { ...OWNER, queue: 'invoices' });
    const printed = inspect(await opening.catch((thrown: unknown) => thrown), { depth: 20 });
    expect(printed).toContain('invoices/subscription-1');
    for (const encoding of ['base64', 'base64url', 'hex'] as const)
      expect(printed).not.toContain(secret.key.export().toString(encoding).replace(/=$/, ''));
  });
});
