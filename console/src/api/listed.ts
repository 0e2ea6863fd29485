/** The first items of a list, and whether there are more. */
export type Listed<Item> = { items: Item[]; more: boolean };

/** Reads up to `most` items, and one more to set `more`. */
export async function firstOf<Item>(listing: AsyncIterable<Item>, most: number): Promise<Listed<Item>> {
  const items: Item[] = [];
  for await (const item of listing) {
    if (items.length === most) return { items, more: true };
    items.push(item);
  }
  return { items, more: false };
}
