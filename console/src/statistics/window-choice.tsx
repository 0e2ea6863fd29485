import type { JSX } from 'preact';
import { WINDOW_NAMES, WINDOWS, type WindowName } from './read-statistics.ts';

/** Chooses the window of figures and charts. */
export function WindowChoice({
  window,
  onChange,
}: {
  window: WindowName;
  onChange: (window: WindowName) => void;
}): JSX.Element {
  return (
    <div class="actions" role="group" aria-label="Time window">
      {WINDOW_NAMES.map((name) => (
        <button
          key={name}
          type="button"
          class="button button-small"
          aria-pressed={name === window}
          onClick={() => {
            onChange(name);
          }}
        >
          {`${WINDOWS[name].text.slice(0, 1).toUpperCase()}${WINDOWS[name].text.slice(1)}`}
        </button>
      ))}
    </div>
  );
}

/** Shown in place of figures and charts that the deployment does not count. */
export function NotCounted(): JSX.Element {
  return (
    <p class="muted">
      This deployment counts no statistics: its setting queueStatistics is off, or it has an earlier version.
    </p>
  );
}
