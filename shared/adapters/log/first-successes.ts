import type { Fact } from '../../ports/journal.ts';
import { lineOf } from './journal-lines.ts';

type AttemptMade = Extract<Fact, { fact: 'attempt_made' }>;

/** What attempts have in common, the line that the first of them would have, and what each has for itself. */
type Group = {
  shared: Record<string, unknown>;
  alone: Record<string, unknown>;
  attempts: (readonly unknown[])[];
};

export type FirstSuccesses = {
  /** Keeps one back for the line of its message. */
  add(made: AttemptMade): void;
  /** Writes all that were kept back. Whoever dies before loses them; the records have them. */
  flush(): void;
};

/**
 * Attempts on one line, each with five values. Logs Insights wants no more than 200 fields in a line that it is to parse, and
 * flattens lists into fields ("parse" in the CloudWatch Logs user guide).
 */
export const MOST_ON_A_LINE = 30;

/**
 * First successes of a message on one line: what they share once, and of each `[subscriptionId, statusCode, durationMs,
 * startedAt, latenessMs]`, without names because these would be most of it; `dueAt` is `startedAt` − `latenessMs`. One that
 * shares its line with no other has the line of any attempt.
 */
export function firstSuccesses(
  write: (message: string, line: Record<string, unknown>) => void,
): FirstSuccesses {
  const groups = new Map<string, Group>();

  const writeGroup = ({ shared, alone, attempts }: Group): void => {
    if (attempts.length === 1) write('attempt_made', alone);
    else write('attempts_delivered', { ...shared, fact: 'attempts_delivered', attempts });
  };

  return {
    add: (made) => {
      const alone = lineOf(made);
      const { subscriptionId, statusCode, durationMs, startedAt, latenessMs, ...rest } = alone;
      const shared = { ...rest, dueAt: undefined };
      const name = JSON.stringify(shared);
      const group: Group = groups.get(name) ?? { shared, alone, attempts: [] };
      group.attempts.push([subscriptionId, statusCode, durationMs, startedAt, latenessMs]);
      if (group.attempts.length < MOST_ON_A_LINE) {
        groups.set(name, group);
        return;
      }
      groups.delete(name);
      writeGroup(group);
    },
    flush: () => {
      for (const group of groups.values()) writeGroup(group);
      groups.clear();
    },
  };
}
