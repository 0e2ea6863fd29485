import type { ComponentChildren } from 'preact';
import { useNow } from '../live/hooks.ts';
import { findStaleness, usePage } from '../live/page-context.tsx';
import { clockText, relativeText } from './time-text.ts';

/** A whole page: a link to its content, `head` and the content, with a notice while that is stale. */
export function PageFrame({ head, children }: { head: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content" onClick={toContent}>
        Skip to content
      </a>
      {head}
      <main id="content" tabIndex={-1}>
        <StaleNotice />
        {children}
      </main>
    </>
  );
}

/** The part of the address behind the `#` is the route, so the link moves the focus itself. */
function toContent(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}

/** How old the page is while its polling fails or is behind. Not a live region: it changes every second. */
function StaleNotice() {
  const { freshness } = usePage();
  const now = useNow();
  const stale = findStaleness(freshness.values(), now);
  if (stale === undefined) return null;
  const { readAt, dueAt } = stale;
  return (
    <p class="stale">
      As of {clockText(readAt, { now, exact: false })}, {relativeText(readAt, now)}
      {dueAt === undefined ? '' : `; trying again ${dueAt > now ? relativeText(dueAt, now) : 'now'}`}.
    </p>
  );
}
