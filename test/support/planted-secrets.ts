import { randomBytes } from 'node:crypto';

/** Secrets planted where secrets are stored, each recognisable wherever it appears. */
export const plantedSecrets = () => {
  const planted = new Map<string, string>();
  return {
    /** Creates a secret. `where` names its place in test failures. */
    plant: (where: string): string => {
      const secret = `planted${planted.size}${randomBytes(12).toString('hex')}`;
      planted.set(where, secret);
      return secret;
    },
    count: (): number => planted.size,
    /** The places whose secrets occur in a text, in any encoding. */
    foundIn: (text: string): string[] =>
      [...planted]
        .filter(([, secret]) => spellingsOf(Buffer.from(secret)).some((spelling) => text.includes(spelling)))
        .map(([where]) => where),
  };
};

/**
 * All common encodings of bytes. In base64 of a longer text they may start at one of three offsets, and their
 * ends depend on the surrounding bytes.
 */
export const spellingsOf = (bytes: Buffer): string[] => [
  bytes.toString('latin1'),
  bytes.toString('hex'),
  [...bytes].join(','),
  ...[0, 1, 2].flatMap((shift) => {
    const inside = Buffer.concat([Buffer.alloc(shift), bytes]);
    return (['base64', 'base64url'] as const).map((encoding) => inside.toString(encoding).slice(4, -4));
  }),
];
