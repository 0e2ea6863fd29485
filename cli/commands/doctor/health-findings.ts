import type { Health } from '../../api/service.ts';

/** What one check came to. `advice`: what to do. */
export type Finding = { check: string; ok: boolean; detail: string; advice?: string };

const TABLES = {
  subscriptionsTable: 'subscriptions table',
  deliveriesTable: 'deliveries table',
  queues: 'queue counts',
};

/** Whether the deployment itself reaches what it rests on. */
export function tableFindings({ checks }: Health): Finding[] {
  return Object.entries(checks).map(([name, state]) => {
    const check = Object.entries(TABLES).find(([known]) => known === name)?.[1] ?? name;
    return state === 'ok'
      ? { check, ok: true, detail: 'answers' }
      : {
          check,
          ok: false,
          detail: 'does not answer',
          advice: 'The log of the Api function says why (docs/operations.md).',
        };
  });
}

const DEAD_LETTERS = [
  {
    queue: 'ingressDeadLetters',
    check: 'ingress dead letters',
    advice: 'See why they are there (docs/operations.md), then: posthaste redrive ingress',
  },
  {
    queue: 'deliveryDeadLetters',
    check: 'delivery dead letters',
    advice: 'See why they are there (docs/operations.md), then: posthaste redrive delivery',
  },
  {
    queue: 'schedulerDeadLetters',
    check: 'scheduler dead letters',
    advice:
      'Find out who changed the role or the retry queue, then purge them: reconcile has woken their retries.',
  },
  {
    queue: 'operationDeadLetters',
    check: 'operation dead letters',
    advice: 'The log of the Operate function says why. Then: posthaste redrive operation',
  },
];

/** Empty is the only good state of these. */
export function deadLetterFindings({ queues = {} }: Health): Finding[] {
  return DEAD_LETTERS.flatMap(({ queue, check, advice }): Finding[] => {
    const count = queues[queue];
    if (count === undefined) return [];
    return count === 0
      ? [{ check, ok: true, detail: 'none' }]
      : [{ check, ok: false, detail: `about ${count}`, advice }];
  });
}

/** Those that our functions work off. */
export const WORK_QUEUES = ['ingress', 'delivery', 'retry', 'operation'];

/** `queues` with the least that each held while it was looked at. */
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
              detail: `about ${count} waiting, and it did not get empty`,
              advice:
                'Under load this is normal. If it grows: docs/operations.md, "When a queue holds something".',
            },
          ];
    }),
    ...undeliverableFinding(queues['undeliverable']),
  ];
}

/** A matter of the subscribers, not of the deployment. */
function undeliverableFinding(count: number | undefined): Finding[] {
  if (count === undefined) return [];
  const check = 'undeliverable queue';
  if (count === 0) return [{ check, ok: true, detail: 'empty' }];
  const advice = 'Subscribers refused these. Once they are well again: posthaste redrive undeliverable';
  return [{ check, ok: true, detail: `about ${count}`, advice }];
}

export function overdueFinding({ overdue }: Health): Finding {
  const check = 'overdue retries';
  if (overdue === 0) return { check, ok: true, detail: 'none' };
  return {
    check,
    ok: false,
    detail: overdue === undefined ? 'could not be counted' : `${overdue}${overdue >= 1000 ? ' or more' : ''}`,
    advice: 'reconcile wakes them within a minute or two. If they stay: docs/operations.md, "Late retries".',
  };
}
