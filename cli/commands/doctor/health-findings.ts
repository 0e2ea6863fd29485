import type { Health } from '../../api/service.ts';

/** The result of one check. `advice`: what to do next. */
export type Finding = { check: string; ok: boolean; detail: string; advice?: string };

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

const DEAD_LETTERS = [
  {
    queue: 'ingressDeadLetters',
    check: 'ingress dead letters',
    advice: 'Find the cause (docs/operations.md), then run: posthaste redrive ingress',
  },
  {
    queue: 'deliveryDeadLetters',
    check: 'delivery dead letters',
    advice: 'Find the cause (docs/operations.md), then run: posthaste redrive delivery',
  },
  {
    queue: 'schedulerDeadLetters',
    check: 'scheduler dead letters',
    advice:
      'Check for changes of the scheduler role or the retry queue, then purge them: reconcile has already started their retries.',
  },
  {
    queue: 'operationDeadLetters',
    check: 'operation dead letters',
    advice: 'See the log of the Operate function for the cause, then run: posthaste redrive operation',
  },
];

/** Findings on the dead-letter queues: any message is a failure. */
export function deadLetterFindings({ queues = {} }: Health): Finding[] {
  return DEAD_LETTERS.flatMap(({ queue, check, advice }): Finding[] => {
    const count = queues[queue];
    if (count === undefined) return [];
    return count === 0
      ? [{ check, ok: true, detail: 'none' }]
      : [{ check, ok: false, detail: `about ${count}`, advice }];
  });
}

/** The queues that the functions consume. */
export const WORK_QUEUES = ['ingress', 'delivery', 'retry', 'operation'];

/** Findings on the work queues. `queues` holds the lowest count seen of each. */
export function workFindings({ queues = {} }: Health): Finding[] {
  return [
    ...WORK_QUEUES.flatMap((queue): Finding[] => {
      const count = queues[queue];
      const check = `${queue} queue`;
      if (count === undefined) return [];
      return count === 0
        ? [{ check, ok: true, detail: 'empty' }]
        : [
            {
              check,
              ok: false,
              detail: `about ${count} waiting; it did not become empty within 15 s`,
              advice:
                'This is normal under load. If it grows, see docs/operations.md, "When a queue holds something".',
            },
          ];
    }),
    ...undeliverableFinding(queues['undeliverable']),
  ];
}

/** Never a failure: the cause is with the subscribers, not with the deployment. */
function undeliverableFinding(count: number | undefined): Finding[] {
  if (count === undefined) return [];
  const check = 'undeliverable queue';
  if (count === 0) return [{ check, ok: true, detail: 'empty' }];
  const advice =
    'Subscribers did not accept these deliveries. Once they work again, run: posthaste redrive undeliverable';
  return [{ check, ok: true, detail: `about ${count}`, advice }];
}

export function overdueFinding({ overdue }: Health): Finding {
  const check = 'overdue retries';
  if (overdue === 0) return { check, ok: true, detail: 'none' };
  return {
    check,
    ok: false,
    detail: overdue === undefined ? 'could not be counted' : `${overdue}${overdue >= 1000 ? ' or more' : ''}`,
    advice:
      'reconcile starts them within two minutes. If they stay overdue, see docs/operations.md, "Late retries".',
  };
}
