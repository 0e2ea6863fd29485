import type { Terminal } from '../terminal.ts';

const COLOURS = {
  delivered: 'green',
  enabled: 'green',
  pending: 'yellow',
  retrying: 'yellow',
  unconfirmed: 'yellow',
  // Back-pressure: "circuit open", and the two others.
  circuit: 'yellow',
  slowed: 'yellow',
  throttled: 'yellow',
  failing: 'red',
  disabled: 'red',
  rejected: 'red',
  exhausted: 'red',
  cancelled: 'gray',
} as const;

/** The text of a status in the colour of its first word, on a terminal. */
export function colouredStatus(text: string, { styled }: Pick<Terminal, 'styled'>): string {
  const [word = ''] = text.split(' ');
  return isColoured(word) ? styled(COLOURS[word], text) : text;
}

function isColoured(word: string): word is keyof typeof COLOURS {
  return Object.hasOwn(COLOURS, word);
}
