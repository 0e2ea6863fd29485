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
