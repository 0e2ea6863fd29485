/** JSON as somebody types it: as it is if it can be read, else what is wrong with it. */
export function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return `is not JSON: ${error.message}`;
    throw error;
  }
}
