import type { JSX } from 'preact';
import { useAction } from '../live/use-action.ts';

const WORDS = { idle: 'Copy', running: 'Copy', done: 'Copied', failed: 'Copy failed' } as const;

export function CopyButton({ text, what }: { text: string; what: string }): JSX.Element {
  const { action, run } = useAction(() => navigator.clipboard.writeText(text));
  return (
    <button type="button" class="button button-small" onClick={run}>
      <span aria-live="polite">{WORDS[action.state]}</span>
      <span class="unseen"> {what}</span>
    </button>
  );
}
