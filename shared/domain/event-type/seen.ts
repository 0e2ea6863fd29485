/** What subschemas have covered of one value, for `unevaluatedProperties` and `unevaluatedItems`. */
export type Seen = { properties: Set<string>; items: Set<number> };

export function nothingSeen(): Seen {
  return { properties: new Set(), items: new Set() };
}

/** Adds to the first what the second has. */
export function merge(into: Seen, from: Seen): void {
  for (const name of from.properties) into.properties.add(name);
  for (const index of from.items) into.items.add(index);
}
