import type { ComponentChildren, JSX } from 'preact';
import type { Live } from '../live/use-live.ts';
import { Failure } from './notice.tsx';

/**
 * Shows a polled value, below the failure if the last poll failed. Until it loads, a skeleton of `lines` lines
 * reserves the space, so that the layout does not shift.
 */
export function Loaded<Value>({
  live,
  lines = 4,
  children,
}: {
  live: Pick<Live<Value>, 'value' | 'failure'>;
  lines?: number;
  children: (value: Value) => ComponentChildren;
}): JSX.Element {
  return (
    <>
      {live.failure === undefined ? null : <Failure of={live.failure} />}
      {live.value === undefined ? (
        live.failure === undefined ? (
          <Skeleton lines={lines} />
        ) : null
      ) : (
        children(live.value)
      )}
    </>
  );
}

function Skeleton({ lines }: { lines: number }): JSX.Element {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} class="skeleton-line" />
      ))}
    </div>
  );
}
