import type { Fact } from '../../ports/journal.ts';
import { toLine } from './journal-lines.ts';

/**
 * The fields that attempts share, the line that the first attempt would have alone, and the values of each
 * attempt.
 */
type Group = {
  shared: Record<string, unknown>;
  alone: Record<string, unknown>;
  attempts: (readonly unknown[])[];
};

/**
 * Maximum attempts on one line, each with five values. Logs Insights parses at most 200 fields of a line and
 * flattens lists into fields ("parse" in the CloudWatch Logs user guide).
 */
export const MAX_ON_A_LINE = 30;

/**
 * Writes first successes of a message on one line: the shared fields once, then for each attempt
 * `[subscriptionId, statusCode, durationMs, startedAt, latenessMs]`. `dueAt` is `startedAt` − `latenessMs`. A
 * single attempt gets the usual line of an attempt.
 */
export function firstSuccesses(write: (message: string, line: Record<string, unknown>) => void) {
  const groups = new Map<string, Group>();

  const writeGroup = ({ shared, alone, attempts }: Group): void => {
    if (attempts.length === 1) write('attempt_made', alone);
    else write('attempts_delivered', { ...shared, fact: 'attempts_delivered', attempts });
  };

  return {
    /** Holds an attempt back for the combined line of its message. */
    add: (made: Extract<Fact, { fact: 'attempt_made' }>): void => {
      const alone = toLine(made);
      const { subscriptionId, statusCode, durationMs, startedAt, latenessMs, ...rest } = alone;
      const shared = { ...rest, dueAt: undefined };
      const name = JSON.stringify(shared);
      const group: Group = groups.get(name) ?? { shared, alone, attempts: [] };
      group.attempts.push([subscriptionId, statusCode, durationMs, startedAt, latenessMs]);
      if (group.attempts.length < MAX_ON_A_LINE) {
        groups.set(name, group);
        return;
      }
      groups.delete(name);
      writeGroup(group);
    },
    /** Writes all attempts held back. A crash before this loses their log lines; the delivery records have them. */
    flush: (): void => {
      for (const group of groups.values()) writeGroup(group);
      groups.clear();
    },
  };
}
