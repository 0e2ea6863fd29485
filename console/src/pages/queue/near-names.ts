/** More changes would make it another word. */
const MOST_CHANGES = 3;
const MOST_NAMES = 3;

/** The names that a user who typed `name` may have meant, the nearest first. */
export function nearNames(name: string, names: readonly string[]): string[] {
  return names
    .map((one) => ({ one, distance: distanceOf(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ one, distance }) => distance <= Math.min(MOST_CHANGES, Math.max(name.length, one.length) / 2))
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, MOST_NAMES)
    .map(({ one }) => one);
}

/** How many characters to insert, remove or replace (Levenshtein distance). A name that begins with the other counts as 1. */
function distanceOf(one: string, other: string): number {
  if (one.startsWith(other) || other.startsWith(one)) return 1;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one.split('')) row = nextRow(row, letter, other);
  return row[other.length] ?? 0;
}

function nextRow(above: readonly number[], letter: string, other: string): number[] {
  const at = (index: number): number => above[index] ?? 0;
  let left = at(0) + 1;
  return [left].concat(
    other.split('').map((same, index) => {
      left = Math.min(at(index) + (letter === same ? 0 : 1), at(index + 1) + 1, left + 1);
      return left;
    }),
  );
}
