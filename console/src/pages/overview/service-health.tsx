import type { ComponentChildren } from 'preact';
import { REDRIVEN_QUEUES } from '../../../../shared/domain/work-queues.ts';
import type { Health } from '../../../../api-client/operations.ts';
import { counted, HEALTH_NAMES } from '../../../../api-client/words.ts';
import type { Live } from '../../live/use-live.ts';
import { Failure, Notice } from '../../parts/notice.tsx';
import { hrefTo } from '../../route.ts';

/** The health of the deployment: failed checks, overdue retries and dead letters. */
export function ServiceHealth({ health }: { health: Live<Health> }) {
  if (health.failure !== undefined) return <Failure of={health.failure} />;
  return (
    <div class="health">
      {health.value === undefined ? (
        <p class="muted">Checking the health of the deployment.</p>
      ) : (
        <Report health={health.value} />
      )}
    </div>
  );
}

function Report({ health }: { health: Health }) {
  const warnings = warningsIn(health);
  const notices = health.queues?.['undeliverable'] ?? 0;
  return (
    <>
      {warnings.length === 0 ? (
        <p class="health-well">
          <span class="tone-delivered">The service is healthy.</span> No retry is overdue, and there are no
          dead letters.
        </p>
      ) : (
        <Notice tone="warning" title="Needs attention">
          <ul>
            {warnings.map(([name, text]) => (
              <li key={name}>{text}</li>
            ))}
          </ul>
        </Notice>
      )}
      {notices === 0 ? null : (
        <p class="muted">
          About {counted(notices, 'undeliverable notice', 'undeliverable notices')}.{' '}
          <DeadLetterLink which="undeliverable">See which are settled</DeadLetterLink>
        </p>
      )}
    </>
  );
}

type NamedWarning = readonly [name: string, text: ComponentChildren];

function warningsIn({ checks, queues = {}, overdue = 0 }: Health): NamedWarning[] {
  return [
    ...Object.entries(checks)
      .filter(([, state]) => state === 'failing')
      .map(([name]): NamedWarning => [name, `Not available: ${inWords(name)}.`]),
    ...(overdue > 0 ? [['overdue', overdueText(overdue)] as const] : []),
    ...Object.entries(queues)
      .filter(([name, count]) => count > 0 && name.endsWith('DeadLetters'))
      .map(([name, count]): NamedWarning => [name, deadLetterText(name, count)]),
  ];
}

function deadLetterText(name: string, count: number) {
  const which = REDRIVEN_QUEUES.find((queue) => HEALTH_NAMES[queue] === name);
  return (
    <>
      About {count} in the queue of {inWords(name)}
      {which === undefined ? (
        ': find the cause, then purge it. reconcile has already started these retries.'
      ) : (
        <>
          : find the cause, then redrive them. <DeadLetterLink which={which}>Show them</DeadLetterLink>
        </>
      )}
    </>
  );
}

function DeadLetterLink({ which, children }: { which: string; children: string }) {
  return <a href={hrefTo({ page: 'dead-letters', query: { which } })}>{children}</a>;
}

function overdueText(overdue: number): string {
  if (overdue === 1) return '1 retry is overdue.';
  return `${overdue === 1000 ? '1000 or more' : overdue} retries are overdue.`;
}

/** `ingress dead letters` for `ingressDeadLetters`. */
function inWords(name: string): string {
  if (name === 'queues') return 'queue counts';
  return name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}
