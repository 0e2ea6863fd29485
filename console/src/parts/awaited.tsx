import type { JSX } from 'preact';

/** In the place of a figure that is on its way. */
export const Awaited = (): JSX.Element => (
  <span class="awaited">
    <span class="unseen">loading</span>
  </span>
);
