import type { JSX } from 'preact';
import type { RetryPolicy } from '../../../../shared/domain/retry/policy.ts';
import { retrySchedule, totalSeconds } from '../../../../shared/domain/retry/schedule.ts';
import { durationText } from '../../parts/time-text.ts';

/** How many requests a delivery makes at most, and over which time. `stale`: the controls contain an error. */
export function ScheduleSum({ policy, stale }: { policy: RetryPolicy; stale: boolean }): JSX.Element {
  const retries = retrySchedule(policy).length;
  return (
    <p class={stale ? 'sum sum-stale' : 'sum'} aria-live="polite">
      <span>
        <strong data-sum="requests">{retries + 1}</strong> {retries === 0 ? 'request' : 'requests'}
      </span>{' '}
      <span>
        over <strong data-sum="time">{durationText(totalSeconds(policy) * 1000)}</strong>
      </span>
      {policy.jitter === 'none' ? null : (
        <span class="muted"> at most: jitter ({policy.jitter}) makes delays shorter</span>
      )}
      {stale ? <span class="muted"> before the last change, which has errors</span> : null}
    </p>
  );
}
