/** What subschemas have covered of one value, for `unevaluatedProperties` and `unevaluatedItems`. */
export type Seen = { properties: Set<string>; items: Set<number> };

export function nothingSeen(): Seen {
  return { properties: new Set(), items: new Set() };
}

/** Adds to the first what the second has. Undefined: no schema asks for it. */
export function merge(into: Seen | undefined, from: Seen | undefined): void {
  if (into === undefined || from === undefined) return;
  for (const name of from.properties) into.properties.add(name);
  for (const index of from.items) into.items.add(index);
}
