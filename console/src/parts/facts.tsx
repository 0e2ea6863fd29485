import type { ComponentChildren } from 'preact';
import { counted } from '../../../api-client/words.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule, totalSeconds } from '../../../shared/domain/retry/schedule.ts';
import { clockText, durationText, utcText } from './time-text.ts';

type Fact = readonly [name: string, value: ComponentChildren];

/** A list of names and values. Undefined values are left out. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name} class="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** `20 requests over 4 min 40 s` */
export function scheduleText(policy: RetryPolicy): string {
  const requests = counted(retrySchedule(policy).length + 1, 'request', 'requests');
  const atMost = policy.jitter === 'none' ? '' : 'at most ';
  return `${requests} over ${atMost}${durationText(totalSeconds(policy) * 1000)}`;
}

/** The phases of a complete retry policy. */
export function PolicyFacts({ policy }: { policy: RetryPolicy }) {
  const formatRetries = (count: number): string => counted(count, 'retry', 'retries');
  const seconds = (count: number): string => durationText(count * 1000);
  return (
    <Facts
      facts={[
        ['Total', scheduleText(policy)],
        ['Immediately', formatRetries(policy.retries_with_no_delay)],
        [
          'Before backoff',
          `${formatRetries(policy.minimum_delay_retries)}, every ${seconds(policy.minimum_delay)}`,
        ],
        [
          'Backoff',
          `${formatRetries(policy.backoff_retries)}, ${policy.retry_backoff_function.replace('_', ' ')} from ${seconds(policy.minimum_delay)} to ${seconds(policy.maximum_delay)}`,
        ],
        [
          'After backoff',
          `${formatRetries(policy.maximum_delay_retries)}, every ${seconds(policy.maximum_delay)}`,
        ],
        ['Jitter', policy.jitter === 'none' ? undefined : policy.jitter],
        [
          'Also retried on',
          policy.retry_on_status.length === 0 ? undefined : policy.retry_on_status.join(', '),
        ],
      ]}
    />
  );
}

/** A time in the time zone of the browser, with UTC as its tooltip. `at`: RFC 3339. */
export function Moment({ at, exact = false }: { at: string; exact?: boolean }) {
  return (
    <time datetime={at} title={utcText(at)}>
      {clockText(Date.parse(at), { now: Date.now(), exact })}
    </time>
  );
}
