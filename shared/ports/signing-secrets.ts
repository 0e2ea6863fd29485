import type { SigningSecret } from '../domain/signing-secret.ts';

/** Whose secret it is. What was sealed for one owner cannot be opened for another. */
export type SecretOwner = { queue: string; subscriptionId: string };

/** For whoever makes and takes secrets, and need not read them again. */
export interface SecretSealer {
  /** Ciphertext that may be kept anywhere. Two sealings of one secret differ. */
  seal(owner: SecretOwner, secret: SigningSecret): Promise<string>;
}

/** For whoever signs. */
export interface SecretOpener {
  /** Answers may be an hour old. @throws UnopenedSecretError */
  open(owner: SecretOwner, sealed: string): Promise<SigningSecret>;
}

/** A secret could not be had just now, or never again; that is for the cause to say. It names the owner only. */
export class UnopenedSecretError extends Error {
  override readonly name = 'UnopenedSecretError';
  constructor({ queue, subscriptionId }: SecretOwner, options: ErrorOptions) {
    super(`The signing secret of subscription ${queue}/${subscriptionId} could not be opened`, options);
  }
}
