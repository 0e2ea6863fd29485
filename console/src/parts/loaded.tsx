import type { ComponentChildren } from 'preact';
import { type Health, readHealth } from '../../../api-client/operations.ts';
import { counted } from '../../../api-client/words.ts';
import type { FailureWords } from '../api/failure-words.ts';
import type { Action } from '../live/hooks.ts';
import { usePage } from '../live/page-context.tsx';
import { type Loading, useLiveCall } from '../live/use-live.ts';
import { hrefTo } from '../route.ts';

type LoadedProps<Value> = {
  live: Loading<Value>;
  lines?: number;
  children: (value: Value) => ComponentChildren;
};

/**
 * Shows a polled value, below the failure if the last poll failed. Until it loads, a skeleton of `lines` lines
 * reserves the space, so that the layout does not shift.
 */
export function Loaded<Value>({ live, lines = 4, children }: LoadedProps<Value>) {
  const { value, failure } = live;
  if (value === undefined && failure === undefined) return <Skeleton lines={lines} />;
  return (
    <>
      {failure === undefined ? null : <Failure of={failure} />}
      {value === undefined ? null : children(value)}
    </>
  );
}

function Skeleton({ lines }: { lines: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class="skeleton-line" />
      ))}
    </div>
  );
}

/** Placeholder for a figure that is loading. */
export function LoadingFigure() {
  return (
    <span class="awaited">
      <span class="unseen">loading</span>
    </span>
  );
}

/** What it can mean that a message is not on record, with the current counts of the deployment. */
export function WhyMissing() {
  const { value } = useLiveCall(readHealth, {});
  return (
    <div class="why-missing">
      <p>A message that is not on record</p>
      <ul>
        <li>was never accepted: the producer’s call failed, or it used another id or queue;</li>
        <li>or is a CloudEvent, which is found by its time: its id here is a hash of its source and id;</li>
        <li>
          or is of a deleted queue, which <code>posthaste find --queue</code> searches by its name only;
        </li>
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

type Tone = 'plain' | 'warning' | 'danger' | 'success';

type NoticeProps = {
  tone?: Tone;
  title: ComponentChildren;
  children?: ComponentChildren;
};

/** A highlighted message. Screen readers announce a danger immediately and other tones politely. */
export function Notice({ tone = 'plain', title, children }: NoticeProps) {
  return (
    <div class={`notice notice-${tone}`} role={tone === 'danger' ? 'alert' : 'status'}>
      <p class="notice-title">{title}</p>
      {children}
    </div>
  );
}

/** Shows a failure and what to do about it. */
export function Failure({ of }: { of: unknown }) {
  const words = usePage().explain(of);
  return words === undefined ? null : <FailureNotice words={words} />;
}

export function FailureNotice({ words: { title, detail, advice } }: { words: FailureWords }) {
  return (
    <Notice tone="danger" title={title}>
      <p>{detail}</p>
      {advice === undefined ? null : <p>{advice}</p>}
    </Notice>
  );
}

/** Shows the failure of what the user started, if it failed. */
export function ActionFailure({ of }: { of: Action<unknown> }) {
  return of.state === 'failed' ? <Failure of={of.failure} /> : null;
}

/** Shown in place of an empty list: what is missing, and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
