import type { JSX } from 'preact';

/** In the place of a figure that is on its way. */
export function Awaited(): JSX.Element {
  return (
    <span class="awaited">
      <span class="unseen">loading</span>
    </span>
  );
}
