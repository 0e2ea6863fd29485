import type { ComponentChildren, JSX } from 'preact';
import { ApiRefusal } from '../../../cli/api/api-refusal.ts';
import { failureWords } from '../api/failure-words.ts';
import { useConsole } from '../live/console-context.tsx';

type Tone = 'plain' | 'warning' | 'danger' | 'success';

/** A sentence or two set apart. A danger is read out at once, anything else in its turn. */
export function Notice({
  tone = 'plain',
  title,
  children,
}: {
  tone?: Tone;
  title?: ComponentChildren;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice notice-${tone}`} role={tone === 'danger' ? 'alert' : 'status'}>
      {title === undefined ? null : <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** What went wrong, and what can be done. */
export function Failure({ of }: { of: unknown }): JSX.Element | null {
  const { info } = useConsole();
  // The shell says so, above every page, as soon as it knows: which of the two answers is first is chance.
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

/** In the place of a list that is empty: what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
