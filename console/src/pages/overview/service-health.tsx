import type { JSX } from 'preact';
import type { Health } from '../../../../cli/api/service.ts';
import type { Live } from '../../live/use-live.ts';
import { Failure, Notice } from '../../parts/notice.tsx';

/** The health of the deployment: failed checks, overdue retries and dead letters. */
export function ServiceHealth({ health }: { health: Live<Health> }): JSX.Element {
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

function Report({ health }: { health: Health }): JSX.Element {
  const warnings = warningsIn(health);
  return warnings.length === 0 ? (
    <p class="health-well">
      <span class="tone-delivered">The service is healthy.</span> No retry is overdue, and the dead-letter
      queues are empty.
    </p>
  ) : (
    <Notice tone="warning" title="Needs attention">
      <ul>
        {warnings.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

function warningsIn({ checks, queues = {}, overdue = 0 }: Health): string[] {
  return [
    ...Object.entries(checks)
      .filter(([, state]) => state === 'failing')
      .map(([name]) => `${inWords(name)} cannot be reached.`),
    ...(overdue > 0 ? [`${overdue === 1000 ? '1000 or more' : overdue} retries are overdue.`] : []),
    ...Object.entries(queues)
      .filter(([name, count]) => count > 0 && /undeliverable|deadletters/i.test(name))
      .map(([name, count]) =>
        name === 'undeliverable'
          ? `${count} messages in the undeliverable queue wait for a consumer.`
          : `${count} ${inWords(name)}: list them and send them again with “posthaste redrive”.`,
      ),
  ];
}

/** ingressDeadLetters: ingress dead letters */
function inWords(name: string): string {
  return name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}
