import type { Output, Terminal } from '../terminal.ts';

type ProgressLine = {
  show: (text: string) => void;
  /** Call before printing anything else. */
  clear: () => void;
};

/** Milliseconds between lines when the output is not a terminal, such as a log file. */
const LINE_EVERY_MS = 10_000;

const BACK_TO_AN_EMPTY_LINE = '\r\u001b[2K';

/** On a terminal one line that is overwritten; otherwise a line every ten seconds. `now` returns milliseconds. */
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

/** Runs the work until it ends or is interrupted, with a progress line that is cleared at the end. */
export function withProgress<Result>(
  { stderr, untilInterrupted }: Terminal,
  work: (signal: AbortSignal, progress: ProgressLine) => Promise<Result>,
): Promise<Result> {
  const progress = progressLine(stderr, () => Date.now());
  return untilInterrupted((signal) => work(signal, progress)).finally(progress.clear);
}

const WIDTH = 30;

/** A bar such as `[##########----------]  33%`. `part` is from 0 to 1. */
export function progressBar(part: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, part)) * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(part * 100)).padStart(3)}%`;
}
