import type { Decrypter } from 'age-encryption';
import { Problem } from '../../../local/install/problem.mjs';
import { failureText } from '../../failure-report.ts';
import { readSecret } from '../../options/input.ts';
import type { Terminal } from '../../terminal.ts';

/** `recipient`: age public keys. */
export type SealingOptions = { recipient?: readonly string[]; passphraseFile?: string };

export type Seal = (text: string) => Promise<string>;

/** `identityFile`: a file of age private keys, as age-keygen writes it. */
export type OpeningOptions = { identityFile?: string; passphraseFile?: string };

/**
 * Seals text as an armored age file (age-encryption.org/v1), which the age command opens as well.
 * @throws Problem for a public key that cannot be used, and for a passphrase that cannot be read
 */
export async function createSealer(
  { recipient = [], passphraseFile }: SealingOptions,
  terminal: Terminal,
): Promise<Seal> {
  // Loaded here, because other commands start sooner without it.
  const { armor, Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if (passphraseFile !== undefined) encrypter.setPassphrase(await readPassphrase(passphraseFile, terminal));
  for (const key of recipient) {
    try {
      encrypter.addRecipient(key);
    } catch (cause) {
      throw new Problem(`${key} is not an age public key (age1…).`, { cause });
    }
  }
  return async (text) => armor.encode(await encrypter.encrypt(text));
}

export function isSealed(text: string): boolean {
  return text.trimStart().startsWith('-----BEGIN AGE ENCRYPTED FILE-----');
}

/**
 * The text of a sealed file, once the whole of it is proved to be as it was sealed.
 * @throws Problem
 */
export async function openSealed(text: string, options: OpeningOptions, terminal: Terminal): Promise<string> {
  const { identityFile, passphraseFile } = options;
  if (identityFile === undefined && passphraseFile === undefined)
    throw new Problem('The file is sealed. Give its key by --identity-file or --passphrase-file.');
  const { armor, Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  if (passphraseFile !== undefined) decrypter.addPassphrase(await readPassphrase(passphraseFile, terminal));
  if (identityFile !== undefined) await addIdentities(decrypter, identityFile, terminal);
  try {
    return await decrypter.decrypt(armor.decode(text), 'text');
  } catch (cause) {
    const key = passphraseFile === undefined ? 'key' : 'passphrase';
    throw new Problem(`The sealed file cannot be opened with this ${key}: ${failureText(cause)}.`, { cause });
  }
}

async function addIdentities(decrypter: Decrypter, file: string, terminal: Terminal): Promise<void> {
  const lines = (await readSecret(file, terminal)).split(/\r?\n/);
  const keys = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new Problem(`${file} has no age private key.`);
  for (const key of keys) {
    try {
      decrypter.addIdentity(key);
    } catch {
      // The failure could repeat the key.
      throw new Problem(`${file} has a line that is no age private key (AGE-SECRET-KEY-…).`);
    }
  }
}

async function readPassphrase(file: string, terminal: Terminal): Promise<string> {
  const passphrase = await readSecret(file, terminal);
  if (passphrase === '') throw new Problem('The passphrase is empty.');
  return passphrase;
}
