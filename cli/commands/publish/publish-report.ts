import { reportFailure } from '../../failure-report.ts';
import { printable } from '../../output/printable.ts';
import { progressBar, progressLine } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';
import type { LinesEnd, LinesOrder } from './publish-lines.ts';

export type PublishReport = Pick<LinesOrder, 'onPublished' | 'onRefused' | 'onProgress'> & {
  /** Whether all of it went out. */
  finish: (end: LinesEnd) => boolean;
};

/** Faults that are told one by one, so that a wrong file does not fill the screen. */
const MOST_TOLD = 20;

/** What is said while lines are published: for programs a line of JSON for each, for people how far it is. */
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
      else if (refused <= MOST_TOLD) {
        progress.clear();
        terminal.printError(`line ${line} ${printable(why)}`);
      }
    },
    onProgress: (part) => {
      const bar = part === undefined ? '' : `${progressBar(part)}  `;
      progress.show(`${bar}${published} published${refused === 0 ? '' : `, ${refused} refused`}`);
    },
    finish: ({ read, unpublished, failure }) => {
      progress.clear();
      if (failure !== undefined) reportFailure(failure, json, terminal);
      if (!json) {
        if (refused > MOST_TOLD) terminal.printError(`and ${refused - MOST_TOLD} lines more`);
        terminal.print(`Queue ${queue}: ${published} published, ${refused} refused.`);
      }
      if (unpublished.length > 0 && !json) {
        terminal.printError(
          `Not published: lines ${rangesOf(unpublished)}, and what comes after line ${read}.`,
        );
      }
      return failure === undefined && refused === 0 && unpublished.length === 0;
    },
  };
}

/** `3-5, 9` */
export function rangesOf(lines: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const line of lines.toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last?.to === line - 1) last.to = line;
    else ranges.push({ from: line, to: line });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
