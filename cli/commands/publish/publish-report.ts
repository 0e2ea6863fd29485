import { reportFailure } from '../../failure-report.ts';
import { printable } from '../../output/printable.ts';
import { progressBar, progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import type { PublishLinesResult, PublishLinesOptions } from './publish-lines.ts';

export type PublishReport = Pick<PublishLinesOptions, 'onPublished' | 'onRefused' | 'onProgress'> & {
  /** Prints the summary. True if every line that was read is published. */
  finish: (end: PublishLinesResult, isInterrupted: boolean) => boolean;
};

/** Refused lines to show, so that a wrong file does not fill the screen. */
const MAX_SHOWN = 20;

/** Reports publishing: a progress line and refused lines, or with `json` one line per message. */
export function publishReport(queue: string, json: boolean, terminal: Terminal): PublishReport {
  const progress = progressLine(terminal.stderr, () => Date.now());
  let published = 0;
  let refused = 0;
  return {
    onPublished: (messages) => {
      published += messages.length;
      if (json) messages.forEach(terminal.printJson);
    },
    onRefused: ({ line, why }) => {
      refused += 1;
      if (json) terminal.printJson({ line, error: { message: why } });
      else if (refused <= MAX_SHOWN) {
        progress.clear();
        terminal.printError(`Line ${line}: ${printable(why)}.`);
      }
    },
    onProgress: (part) => {
      const bar = part === undefined ? '' : `${progressBar(part)}  `;
      progress.show(`${bar}${published} published${refused === 0 ? '' : `, ${refused} refused`}`);
    },
    finish: (end, isInterrupted) => {
      progress.clear();
      const { failure, unpublished } = end;
      if (failure !== undefined) reportFailure(failure, json, terminal);
      if (!json) {
        if (refused > MAX_SHOWN) terminal.printError(`${refused - MAX_SHOWN} more lines were refused.`);
        terminal.print(`Queue ${queue}: ${published} published, ${refused} refused.`);
        if (isInterrupted || unpublished.length > 0) terminal.printError(leftText(end));
      }
      return failure === undefined && refused === 0 && unpublished.length === 0;
    },
  };
}

function leftText({ read, unpublished }: PublishLinesResult): string {
  const lines = unpublished.length === 0 ? '' : `lines ${rangesOf(unpublished)}, and `;
  return `Not published: ${lines}all lines after line ${read}.`;
}

/** Line numbers as ranges, such as `3-5, 9`. */
export function rangesOf(lines: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const line of lines.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.to === line - 1) last.to = line;
    else ranges.push({ from: line, to: line });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
