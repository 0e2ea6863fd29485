import type { JSX } from 'preact';

/** The way on in a list that has more than is shown. */
export function LoadMore({
  more,
  onMore,
  children,
}: {
  more: boolean;
  onMore: () => void;
  children: string;
}): JSX.Element | null {
  return more ? (
    <p class="load-more">
      <button type="button" class="button" onClick={onMore}>
        {children}
      </button>
    </p>
  ) : null;
}
