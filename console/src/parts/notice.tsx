import type { ComponentChildren } from 'preact';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { failureWords } from '../api/failure-words.ts';
import { useConsole } from '../live/console-context.tsx';
import type { Action } from '../live/use-action.ts';

type Tone = 'plain' | 'warning' | 'danger' | 'success';

/** A highlighted message. Screen readers announce a danger immediately and other tones politely. */
export function Notice({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <div class={`notice notice-${tone}`} role={tone === 'danger' ? 'alert' : 'status'}>
      {title === undefined ? null : <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** Shows a failure and what to do about it. */
export function Failure({ of }: { of: unknown }) {
  const { info } = useConsole();
  // The app shows a missing deployment once above every page; either response may arrive first.
  const isDeployed = typeof info?.deployment === 'string';
  if (!isDeployed && of instanceof ApiRefusal && of.code === 'no_deployment') return null;
  const { title, detail, advice } = failureWords(of);
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
