import type { RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import type { Health } from '../../../api-client/operations.ts';
import { HEALTH_NAMES } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { countsText } from '../../output/words.ts';

/** The result of one check. `advice`: what to do next. */
export type Finding = { check: string; ok: boolean; detail: string; advice?: string };

/** What a bounded look at a queue found. `settled`: notices that need nothing more; absent if that is not known. */
export type ReasonCounts = {
  read: number;
  isComplete: boolean;
  reasons: Readonly<Record<string, number>>;
  settled?: number;
};

export type Reasons = Partial<Record<RedrivenQueue, ReasonCounts>>;

const TABLES = {
  subscriptionsTable: 'subscriptions table',
  deliveriesTable: 'deliveries table',
  queues: 'queue counts',
};

/** Findings on the tables and queues that the deployment depends on. */
export function tableFindings({ checks }: Health): Finding[] {
  return Object.entries(checks).map(([name, state]) => {
    const check = Object.entries(TABLES).find(([known]) => known === name)?.[1] ?? name;
    return state === 'ok'
      ? { check, ok: true, detail: 'available' }
      : {
          check,
          ok: false,
          detail: 'not available',
          advice: 'See the log of the Api function for the reason (docs/operations.md).',
        };
  });
}

const CAUSES: Readonly<Record<Exclude<RedrivenQueue, 'undeliverable'>, string>> = {
  ingress: 'Find the cause (docs/operations.md, "Ingress dead letters")',
  delivery: 'Find the cause (docs/operations.md, "Delivery dead letters")',
  operation: 'Find the cause (docs/operations.md, "Operation dead letters")',
};

/** Findings on the dead-letter queues: any message is a failure. `reasons`: what a look at them found, if there was one. */
export function deadLetterFindings({ queues = {} }: Health, reasons: Reasons = {}): Finding[] {
  const redriven = (['ingress', 'delivery', 'operation'] as const).flatMap((which) => {
    const see = `See them: ${commandText(`deadletters list ${which}`)}`;
    const advice = `${see}. ${CAUSES[which]}, then redrive them: ${commandText(`redrive ${which}`)}`;
    return countFinding(`${which} dead letters`, queues[HEALTH_NAMES[which]], 'none', (count) => ({
      ok: false,
      detail: `about ${count}${reasonsText(reasons[which])}`,
      advice,
    }));
  });
  const scheduler = countFinding(
    'scheduler dead letters',
    queues['schedulerDeadLetters'],
    'none',
    (count) => ({
      ok: false,
      detail: `about ${count}`,
      advice:
        'Check for changes of the scheduler role or the retry queue, then purge them: reconcile has already started their retries.',
    }),
  );
  return [...redriven, ...scheduler];
}

/** None where the deployment does not count. */
function countFinding(
  check: string,
  count: number | undefined,
  empty: 'none' | 'empty',
  found: (count: number) => Omit<Finding, 'check'>,
): Finding[] {
  if (count === undefined) return [];
  return [{ check, ...(count === 0 ? { ok: true, detail: empty } : found(count)) }];
}

/** `: not_json 2, none 1` */
function reasonsText(look: ReasonCounts | undefined): string {
  if (look === undefined || look.read === 0) return '';
  return `${look.isComplete ? '' : `; of ${look.read} read`}: ${countsText(look.reasons)}`;
}

/** The queues that the functions consume. */
export const WORK_QUEUES = ['ingress', 'delivery', 'retry', 'operation'];

/** Findings on the work queues. `queues` holds the lowest count seen of each. */
export function workFindings({ queues = {} }: Health): Finding[] {
  return WORK_QUEUES.flatMap((queue) =>
    countFinding(`${queue} queue`, queues[queue], 'empty', (count) => ({
      ok: false,
      detail: `about ${count} waiting; it did not become empty within 15 s`,
      advice:
        'This is normal under load. If it grows, see docs/operations.md, "When a queue holds something".',
    })),
  );
}

/** Never a failure: the cause is with the subscribers, not with the deployment. */
export function undeliverableFindings({ queues = {} }: Health, reasons: Reasons = {}): Finding[] {
  const look = reasons.undeliverable;
  const settled = look?.settled ?? 0;
  const states = settled === 0 ? '' : `; ${settled} settled since`;
  return countFinding('undeliverable queue', queues['undeliverable'], 'empty', (count) => ({
    ok: true,
    detail: `about ${count}${reasonsText(look)}${states}`,
    advice: undeliverableAdvice(look, settled).join('. '),
  }));
}

function undeliverableAdvice(look: ReasonCounts | undefined, settled: number): string[] {
  const removal =
    settled === 0
      ? []
      : [`Remove the settled ones: ${commandText('deadletters delete undeliverable --settled')}`];
  if (settled > 0 && look?.isComplete === true && settled === look.read) return removal;
  return [
    `See them: ${commandText('deadletters list undeliverable')}`,
    ...removal,
    `Retry ${settled === 0 ? 'them' : 'the others'} once their subscribers work: ${commandText('redrive undeliverable')}`,
  ];
}

export function overdueFinding({ overdue }: Health): Finding {
  const check = 'overdue retries';
  if (overdue === 0) return { check, ok: true, detail: 'none' };
  return {
    check,
    ok: false,
    detail: overdue === undefined ? 'could not be counted' : `${overdue}${overdue >= 1000 ? ' or more' : ''}`,
    advice:
      'reconcile starts them within two minutes. If they stay overdue, see docs/operations.md, "Alarm retries late".',
  };
}
