import type { JSX } from 'preact';

/** A button below a list that has more items. */
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
