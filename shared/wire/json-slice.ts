/** Valid JSON source text, from `parseJson` or `JSON.stringify`, with its parsed value. */
export type Json = { readonly source: string; readonly value: unknown };

/** Parses JSON (RFC 8259, strictly); undefined if the text is invalid. */
export function parseJson(source: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(source);
    return { source, value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * The source text of a top-level property's value, exactly as written: big numbers, key order, escapes and inner
 * whitespace are preserved. The last of several properties with one name counts, as in JSON.parse. Undefined: no
 * such property, or not an object. The scan is iterative, so deep nesting cannot exhaust the stack.
 */
export function propertySource(json: Json, name: string): string | undefined {
  const { source } = json;
  let at = skipSpace(source, 0);
  if (source[at] !== '{') return undefined;
  let found: string | undefined;
  at = skipSpace(source, at + 1);
  while (at < source.length && source[at] !== '}') {
    const keyEnd = endOfString(source, at);
    const isSought = JSON.parse(source.slice(at, keyEnd)) === name;
    const start = skipSpace(source, skipSpace(source, keyEnd) + 1);
    const end = endOfValue(source, start);
    if (isSought) found = source.slice(start, end);
    at = skipSeparator(source, end);
  }
  return found;
}

/** The source texts of an array's elements, exactly as written; undefined if the value is not an array. */
export function elementSources(json: Json): string[] | undefined {
  const { source } = json;
  let at = skipSpace(source, 0);
  if (source[at] !== '[') return undefined;
  const elements: string[] = [];
  at = skipSpace(source, at + 1);
  while (at < source.length && source[at] !== ']') {
    const end = endOfValue(source, at);
    elements.push(source.slice(at, end));
    at = skipSeparator(source, end);
  }
  return elements;
}

/** The source text of the whole value, without surrounding whitespace. */
export function wholeSource({ source }: Json): string {
  return source.trim();
}

/** The JSON of a non-empty object with an additional property, whose value is JSON source text. */
export function spliceRaw(fields: Record<string, unknown>, name: string, source: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},${JSON.stringify(name)}:${source}}`;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /[^,\]} \t\n\r]*/y;

function endOfMatch(pattern: RegExp, source: string, start: number): number {
  pattern.lastIndex = start;
  pattern.test(source);
  return pattern.lastIndex;
}

function skipSpace(source: string, start: number): number {
  return endOfMatch(SPACE, source, start);
}

/** Position after the comma, at the next member; without one, at the closing bracket. */
function skipSeparator(source: string, start: number): number {
  const at = skipSpace(source, start);
  return source[at] === ',' ? skipSpace(source, at + 1) : at;
}

function endOfString(source: string, start: number): number {
  let at = start + 1;
  while (at < source.length && source[at] !== '"') at += source[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfValue(source: string, start: number): number {
  const first = source[start];
  if (first === '"') return endOfString(source, start);
  if (first !== '{' && first !== '[') return endOfMatch(SCALAR, source, start);
  let depth = 0;
  let at = start;
  do {
    depth += depthChange(source[at]);
    at = source[at] === '"' ? endOfString(source, at) : at + 1;
  } while (depth > 0 && at < source.length);
  return at;
}

function depthChange(character: string | undefined): number {
  if (character === '{' || character === '[') return 1;
  return character === '}' || character === ']' ? -1 : 0;
}
