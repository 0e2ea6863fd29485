/** Of V8 with 64-bit pointers, rounded up: what a string, an object or a property takes beside its content. */
const STRING = 32;
const OBJECT = 64;
const PROPERTY = 16;
const NUMBER = 16;

/** Two bytes a character, as V8 keeps any text that has one beyond Latin-1. */
const CHARACTER = 2;

/**
 * About how many bytes a value that was read from JSON takes in memory, rather too many than too few. Without recursion:
 * what users nest may be deeper than the stack.
 */
export function heapBytesOf(value: unknown): number {
  const open = [value];
  let bytes = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') bytes += STRING + CHARACTER * next.length;
    else if (typeof next !== 'object' || next === null) bytes += NUMBER;
    else {
      bytes += OBJECT;
      for (const [name, member] of Object.entries(next)) {
        bytes += PROPERTY + (Array.isArray(next) ? 0 : STRING + CHARACTER * name.length);
        open.push(member);
      }
    }
  }
  return bytes;
}
