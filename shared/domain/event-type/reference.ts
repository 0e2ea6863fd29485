/**
 * What a `$ref` refers to inside its document: `#`, or `#` and a JSON Pointer (RFC 6901), percent-encoded. Undefined: nothing
 * is there, or the reference has another form.
 */
export function resolveReference(root: unknown, reference: string): { schema: unknown } | undefined {
  const keys = toKeys(reference);
  if (keys === undefined) return undefined;
  let schema = root;
  for (const key of keys) {
    if (typeof schema !== 'object' || schema === null || !Object.hasOwn(schema, key)) return undefined;
    schema = Reflect.get(schema, key);
  }
  return { schema };
}

function toKeys(reference: string): string[] | undefined {
  if (reference === '#') return [];
  if (!reference.startsWith('#/')) return undefined;
  try {
    return decodeURIComponent(reference.slice(2))
      .split('/')
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    // Not percent-encoded.
    return undefined;
  }
}

/** Where a value is in the data; undefined: the data itself. */
export type Place = { within: Place; key: string | number } | undefined;

/** The JSON Pointer of a place: '' for the data itself. */
export function toPointer(place: Place): string {
  if (place === undefined) return '';
  const key = String(place.key).replaceAll('~', '~0').replaceAll('/', '~1');
  return `${toPointer(place.within)}/${key}`;
}
