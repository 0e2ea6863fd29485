import type { JSX } from 'preact';
import type { Health } from '../../../../cli/api/service.ts';
import type { Live } from '../../live/use-live.ts';
import { Failure, Notice } from '../../parts/notice.tsx';

/** What lies where nobody takes it, and what cannot be reached. */
export function ServiceHealth({ health }: { health: Live<Health> }): JSX.Element {
  if (health.failure !== undefined) return <Failure of={health.failure} />;
  return (
    <div class="health">
      {health.value === undefined ? (
        <p class="muted">Asking how the deployment is.</p>
      ) : (
        <Report health={health.value} />
      )}
    </div>
  );
}

function Report({ health }: { health: Health }): JSX.Element {
  const worries = worriesIn(health);
  return worries.length === 0 ? (
    <p class="health-well">
      <span class="tone-delivered">The service is well.</span> No retry is overdue, and no message lies in a
      dead-letter queue.
    </p>
  ) : (
    <Notice tone="warning" title="This needs attention">
      <ul>
        {worries.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

function worriesIn({ checks, queues = {}, overdue = 0 }: Health): string[] {
  return [
    ...Object.entries(checks)
      .filter(([, state]) => state === 'failing')
      .map(([name]) => `${inWords(name)} cannot be reached.`),
    ...(overdue > 0 ? [`${overdue === 1000 ? '1000 or more' : overdue} retries are overdue.`] : []),
    ...Object.entries(queues)
      .filter(([name, count]) => count > 0 && /undeliverable|deadletters/i.test(name))
      .map(([name, count]) =>
        name === 'undeliverable'
          ? `${count} messages on the undeliverable queue wait for somebody to take them.`
          : `${count} messages in the ${inWords(name)}: posthaste redrive shows them and sends them again.`,
      ),
  ];
}

/** ingressDeadLetters: ingress dead letters */
function inWords(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
