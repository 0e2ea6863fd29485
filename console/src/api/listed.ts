import type { Listed } from '../../../api-client/api-client.ts';

/** Reads up to `most` items of a list that is filtered here, and one more to set `more`. */
export async function readFirst<Item>(
  listing: AsyncIterable<Item>,
  most: number,
  /** Whether a failure only ends the reading. */
  isEnd = () => false,
): Promise<Listed<Item>> {
  const items: Item[] = [];
  try {
    for await (const item of listing) {
      if (items.length === most) return { items, more: true };
      items.push(item);
    }
    return { items, more: false };
  } catch (failure) {
    if (isEnd()) return { items, more: true };
    throw failure;
  }
}

/** The items of a listing that are wanted. */
export const filtered = async function* <Item>(
  listing: AsyncIterable<Item>,
  isWanted: (item: Item) => boolean,
): AsyncGenerator<Item> {
  for await (const item of listing) if (isWanted(item)) yield item;
};

/** Items of a list to show at first, and with each click for more. */
export const PAGE_SIZE = 25;

/** For each page. The API looks through the messages of the queue, which may be many for few deliveries. */
const LOOKING_MS = 10_000;

/** As `readFirst`, but stops after `milliseconds` with what it has read; `more` is then set. */
export function firstWithin<Item>(
  list: (signal: AbortSignal) => AsyncIterable<Item>,
  most: number,
  { signal, milliseconds = (LOOKING_MS * most) / PAGE_SIZE }: { signal: AbortSignal; milliseconds?: number },
): Promise<Listed<Item>> {
  const outOfTime = AbortSignal.timeout(milliseconds);
  const listing = list(AbortSignal.any([signal, outOfTime]));
  return readFirst(listing, most, () => outOfTime.aborted && !signal.aborted);
}
