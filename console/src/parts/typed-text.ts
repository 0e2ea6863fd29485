/** The text of a field for a stored value; empty for one that is no text, number or boolean. */
export function textOf(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

/** The error to show for text that is not JSON; undefined for JSON. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return `Invalid JSON: ${error.message}`;
    throw error;
  }
}

/** The value of JSON text; undefined if it is blank or not JSON. */
export function jsonIn(text: string): unknown {
  return text.trim() === '' || jsonFault(text) !== undefined ? undefined : JSON.parse(text);
}

/** Text that is not a number stays text, so that the schema or the API reports the error. Undefined if it is blank. */
export function numberIn(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}
