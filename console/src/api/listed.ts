import type { Listed } from '../../../api-client/api-client.ts';

/** Reads up to `most` items of a list that is filtered here, and one more to set `more`. */
export async function firstOf<Item>(listing: AsyncIterable<Item>, most: number): Promise<Listed<Item>> {
  const items: Item[] = [];
  for await (const item of listing) {
    if (items.length === most) return { items, more: true };
    items.push(item);
  }
  return { items, more: false };
}

/** As `firstOf`, but stops after `milliseconds` with what it has read; `more` is then set. */
export async function firstWithin<Item>(
  list: (signal: AbortSignal) => AsyncIterable<Item>,
  most: number,
  { milliseconds, signal }: { milliseconds: number; signal: AbortSignal },
): Promise<Listed<Item>> {
  const outOfTime = AbortSignal.timeout(milliseconds);
  const items: Item[] = [];
  try {
    for await (const item of list(AbortSignal.any([signal, outOfTime]))) {
      if (items.length === most) return { items, more: true };
      items.push(item);
    }
    return { items, more: false };
  } catch (failure) {
    if (signal.aborted || !outOfTime.aborted) throw failure;
    return { items, more: true };
  }
}
