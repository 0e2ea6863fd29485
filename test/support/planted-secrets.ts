import { randomBytes } from 'node:crypto';

/** Secrets that are put where secrets are, each to be recognised wherever it appears. */
export const plantedSecrets = () => {
  const planted = new Map<string, string>();
  return {
    /** A new one, for a place that is named to whoever reads that it was found. */
    plant: (where: string): string => {
      const secret = `planted${planted.size}${randomBytes(12).toString('hex')}`;
      planted.set(where, secret);
      return secret;
    },
    count: (): number => planted.size,
    /** The places whose secrets are in a text, written down in whichever way. */
    foundIn: (text: string): string[] =>
      [...planted]
        .filter(([, secret]) => spellingsOf(Buffer.from(secret)).some((spelling) => text.includes(spelling)))
        .map(([where]) => where),
  };
};

/**
 * Every way in which somebody might write bytes down. Base64 of a longer text that holds them begins at one of three places,
 * and its ends depend on what stands around them.
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
