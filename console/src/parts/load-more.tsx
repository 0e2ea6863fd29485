import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

export const PAGE_SIZE = 25;

/** How many items of a list to show: a page, and one more with each click on `LoadMore`. */
export function useMost(): { most: number; showMore: () => void } {
  const [most, setMost] = useState(PAGE_SIZE);
  const showMore = (): void => {
    setMost(most + PAGE_SIZE);
  };
  return { most, showMore };
}

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
