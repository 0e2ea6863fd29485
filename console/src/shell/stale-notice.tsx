import { useConsole, stalenessOf } from '../live/console-context.tsx';
import { useNow } from '../live/hooks.ts';
import { clockText, relativeText } from '../parts/time-text.ts';

/** How old the page is while its polling fails or is behind. Not a live region: it changes every second. */
export function StaleNotice() {
  const { freshness } = useConsole();
  const now = useNow();
  const stale = stalenessOf(freshness.values(), now);
  if (stale === undefined) return null;
  const { readAt, dueAt } = stale;
  return (
    <p class="stale">
      As of {clockText(readAt, { now, exact: false })}, {relativeText(readAt, now)}
      {dueAt === undefined ? '' : `; trying again ${dueAt > now ? relativeText(dueAt, now) : 'now'}`}.
    </p>
  );
}
