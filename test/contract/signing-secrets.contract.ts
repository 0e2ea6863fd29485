import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Auth } from '../../shared/domain/subscription/auth.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import {
  type SecretOpener,
  type SecretSealer,
  UnopenedSecretError,
} from '../../shared/ports/subscriptions.ts';

const OWNER = { queue: 'orders', subscriptionId: 'subscription-1' };

/** Contract of signing secrets: a sealed secret can be opened for its owner only. */
export const describeSigningSecretsContract = (
  name: string,
  make: () => Promise<SecretSealer & SecretOpener>,
): void => {
  describe(`signing secrets ${name}`, () => {
    it.each(['v1', 'v1a'] as const)('are opened as they were sealed: %s', async (scheme) => {
      const secrets = await make();
      const secret = makeSecret(scheme, randomBytes);
      const opened = await secrets.open(OWNER, await secrets.seal(OWNER, secret));
      expect(opened.scheme).toBe(scheme);
      expect(secretText(opened)).toBe(secretText(secret));
    });

    it('are sealed to a different text each time, none of which reveals the secret', async () => {
      const secrets = await make();
      const secret = makeSecret('v1', randomBytes);
      const sealed = [await secrets.seal(OWNER, secret), await secrets.seal(OWNER, secret)];
      expect(new Set(sealed).size).toBe(2);
      for (const text of sealed) {
        expect(Buffer.from(text).includes(secretText(secret).slice(6, 30))).toBe(false);
        expect(secretText(await secrets.open(OWNER, text))).toBe(secretText(secret));
      }
    });

    it.each([
      ['queue', { ...OWNER, queue: 'invoices' }],
      ['subscription', { ...OWNER, subscriptionId: 'subscription-2' }],
    ])(
      'of one %s cannot be opened for another, before and after they were opened for the right one',
      async (_of, other) => {
        const secrets = await make();
        const sealed = await secrets.seal(OWNER, makeSecret('v1', randomBytes));
        await expect(secrets.open(other, sealed)).rejects.toThrow(UnopenedSecretError);
        await secrets.open(OWNER, sealed);
        await expect(secrets.open(other, sealed)).rejects.toThrow(UnopenedSecretError);
      },
    );

    it('are also the credentials of a subscription, for it only', async () => {
      const secrets = await make();
      const auth: Auth = { type: 'basic', username: 'ada', password: 'pässwörd', ca: 'x'.repeat(30_000) };
      const sealed = await secrets.sealAuth(OWNER, auth);
      expect(sealed).not.toContain('p\u00e4ssw');
      expect(await secrets.openAuth(OWNER, sealed)).toEqual(auth);
      const signing = await secrets.seal(OWNER, makeSecret('v1', randomBytes));
      for (const opening of [
        secrets.open(OWNER, sealed),
        secrets.openAuth(OWNER, signing),
        secrets.openAuth({ ...OWNER, queue: 'invoices' }, sealed),
      ])
        await expect(opening).rejects.toThrow(UnopenedSecretError);
    });

    it('that were never sealed cannot be opened', async () => {
      const secrets = await make();
      for (const text of ['', 'nothing', '1.AAAA.AAAA'])
        await expect(secrets.open(OWNER, text)).rejects.toThrow(UnopenedSecretError);
    });
  });
};
