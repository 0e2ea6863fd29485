import type { Output, Terminal } from '../terminal.ts';

/** Milliseconds between lines when the output is not a terminal, such as a log file. */
const LINE_EVERY_MS = 10_000;

const BACK_TO_AN_EMPTY_LINE = '\r\u001b[2K';

/**
 * On a terminal one line that is overwritten; otherwise a line every ten seconds. Call `clear` before printing anything
 * else. `now` returns milliseconds.
 */
export function progressLine(stream: Pick<Output, 'write' | 'isTTY'>, now = Date.now) {
  let lineAt = now();
  return {
    show: (text: string): void => {
      if (stream.isTTY === true) stream.write(BACK_TO_AN_EMPTY_LINE + text);
      else if (now() - lineAt >= LINE_EVERY_MS) {
        lineAt = now();
        stream.write(`${text}\n`);
      }
    },
    clear: (): void => {
      if (stream.isTTY === true) stream.write(BACK_TO_AN_EMPTY_LINE);
    },
  };
}

/** Runs the work until it ends or is interrupted, with a progress line that is cleared at the end. */
export function withProgress<Result>(
  { stderr, untilInterrupted }: Terminal,
  work: (signal: AbortSignal, progress: ReturnType<typeof progressLine>) => Promise<Result>,
): Promise<Result> {
  const progress = progressLine(stderr);
  return untilInterrupted((signal) => work(signal, progress)).finally(progress.clear);
}

const WIDTH = 30;

/** A bar such as `[##########----------]  33%`. `part` is from 0 to 1. */
export function progressBar(part: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, part)) * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(part * 100)).padStart(3)}%`;
}
