import type { JSX } from 'preact';
import type { Health } from '../../../../cli/api/service.ts';
import type { Live } from '../../live/use-live.ts';
import { Failure, Notice } from '../../parts/notice.tsx';
import { hrefTo } from '../../route.ts';

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
      {Object.keys(health.queues ?? {}).some((name) => (health.queues?.[name] ?? 0) > 0 && name in ADVICE) ? (
        <p>
          <a href={hrefTo({ page: 'dead-letters', query: {} })}>Show dead letters</a>
        </p>
      ) : null}
    </Notice>
  );
}

function warningsIn({ checks, queues = {}, overdue = 0 }: Health): string[] {
  return [
    ...Object.entries(checks)
      .filter(([, state]) => state === 'failing')
      .map(([name]) => `Not available: ${inWords(name)}.`),
    ...(overdue > 0 ? [overdueText(overdue)] : []),
    ...Object.entries(queues)
      .filter(([name, count]) => count > 0 && /undeliverable|deadletters/i.test(name))
      .map(([name, count]) => `About ${count} in the queue of ${inWords(name)}${adviceOn(name)}`),
  ];
}

function overdueText(overdue: number): string {
  if (overdue === 1) return '1 retry is overdue.';
  return `${overdue === 1000 ? '1000 or more' : overdue} retries are overdue.`;
}

const ADVICE: Readonly<Record<string, string>> = {
  ingressDeadLetters: ': find the cause, then redrive them.',
  deliveryDeadLetters: ': find the cause, then redrive them.',
  operationDeadLetters: ': find the cause, then redrive them.',
  schedulerDeadLetters: ': find the cause, then purge it. reconcile has already started these retries.',
  undeliverable: ': once their subscribers work again, redrive them.',
};

function adviceOn(queue: string): string {
  return ADVICE[queue] ?? '.';
}

/** `ingress dead letters` for `ingressDeadLetters`. */
function inWords(name: string): string {
  if (name === 'undeliverable') return 'undeliverable deliveries';
  if (name === 'queues') return 'queue counts';
  return name.replaceAll(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
}
