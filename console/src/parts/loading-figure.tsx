import type { JSX } from 'preact';

/** Placeholder for a figure that is loading. */
export function LoadingFigure(): JSX.Element {
  return (
    <span class="awaited">
      <span class="unseen">loading</span>
    </span>
  );
}
