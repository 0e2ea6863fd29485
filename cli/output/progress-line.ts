import type { Output } from '../terminal.ts';

export type ProgressLine = {
  show: (text: string) => void;
  /** Before anything else is printed. */ clear: () => void;
};

/** Milliseconds between lines where each stays, as in a log file. */
const LINE_EVERY_MS = 10_000;

const BACK_TO_AN_EMPTY_LINE = '\r\u001b[2K';

/** On a terminal one line that changes; elsewhere a line now and then. `now` is milliseconds. */
export function progressLine(stream: Pick<Output, 'write' | 'isTTY'>, now: () => number): ProgressLine {
  let lineAt = now();
  if (stream.isTTY === true) {
    return {
      show: (text) => {
        stream.write(BACK_TO_AN_EMPTY_LINE + text);
      },
      clear: () => {
        stream.write(BACK_TO_AN_EMPTY_LINE);
      },
    };
  }
  return {
    show: (text) => {
      if (now() - lineAt < LINE_EVERY_MS) return;
      lineAt = now();
      stream.write(`${text}\n`);
    },
    clear: () => undefined,
  };
}
