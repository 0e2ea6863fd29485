import type { JSX } from 'preact';
import { type Health, readHealth } from '../../../api-client/operations.ts';
import { counted } from '../../../api-client/words.ts';
import { useConsole } from '../live/console-context.tsx';
import { useLive } from '../live/use-live.ts';
import { hrefTo } from '../route.ts';

/** What it can mean that a message is not on record, with the current counts of the deployment. */
export function WhyMissing(): JSX.Element {
  const { api } = useConsole();
  const { value } = useLive('health', (signal) => api.call(readHealth, { signal }));
  return (
    <div class="why-missing">
      <p>A message that is not on record</p>
      <ul>
        <li>was never accepted: the producer’s call failed, or it used another id or queue;</li>
        <li>
          or is still in the ingress queue, where {waitingText(value)}; or in its dead letters, where{' '}
          {deadText(value)} (<a href={hrefTo({ page: 'dead-letters', query: {} })}>show dead letters</a>);
        </li>
        <li>
          or is older than the retention of {value?.retentionDays ?? '…'} days (setting retentionDays), or of
          its queue (_retention_days).
        </li>
      </ul>
    </div>
  );
}

function waitingText(health: Health | undefined): string {
  const count = health?.queues?.['ingress'];
  if (count === undefined) return 'an unknown number waits';
  const delayed = health?.delayed?.['ingress'] ?? 0;
  return `${counted(count, 'waits', 'wait')} now${delayed === 0 ? '' : ` and ${delayed} until a later time`}`;
}

function deadText(health: Health | undefined): string {
  const count = health?.queues?.['ingressDeadLetters'];
  return count === undefined ? 'an unknown number lies' : `${counted(count, 'lies', 'lie')} now`;
}
