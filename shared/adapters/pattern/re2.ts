import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import type { CompiledPattern, CompilePattern } from '../../domain/event-type/pattern.ts';

/** Largest pattern, in instructions of its program. `^[a-z0-9-]{1,63}$` has 129. */
const MAX_SIZE = 2_000;

/** Instructions of all patterns that are kept: some 30 MB. The patterns of a thousand usual types fit. */
const MAX_KEPT = 100_000;

/**
 * Compiles patterns for RE2, whose time grows with the length of the text only, and keeps those used last. A pattern must
 * also be one of JavaScript with the flag `u`, as JSON Schema says (core §6.4), so that its syntax has no other meaning
 * here, apart from \s and the ends of lines that `.` leaves out (docs/event-types.md#patterns). What RE2 lacks is refused:
 * looking around, references back, names of scripts.
 */
export function re2Patterns(): CompilePattern {
  const kept = new LRUCache<string, CompiledPattern & { ok: true }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ size }) => size,
  });
  return (source) => {
    const known = kept.get(source);
    if (known !== undefined) return known;
    const compiled = compile(source);
    if (compiled.ok) kept.set(source, compiled);
    return compiled;
  };
}

/** An escaped half of a character beyond U+FFFF: RE2 reads whole characters. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

function compile(source: string): CompiledPattern {
  try {
    // Only parsed: JavaScript's engine never runs it.
    RegExp(source, 'u');
    if (SURROGATE.test(source))
      return refused('must have characters beyond U+FFFF as they are, or as \\u{…}');
    // RE2JS would read a reference by name as text.
    if (/(?<!\\)(?:\\\\)*\\k/.test(source)) return refused('must not refer to a group');
    // In a class, RE2 would read [:alpha:] as the name of another one.
    const pattern = RE2JS.compile(RE2JS.translateRegExp(source.replaceAll('[:', '[\\:')));
    const size = Math.max(1, pattern.programSize());
    if (size > MAX_SIZE) return refused(`is too large: RE2 needs ${size} instructions, at most ${MAX_SIZE}`);
    // find, not test: the automaton that test builds keeps up to 8 MB for each pattern.
    return { ok: true, size, test: (text) => pattern.matcher(text).find() };
  } catch (error) {
    return refused(
      `must be a regular expression that RE2 knows: ${error instanceof Error ? error.message : ''}`,
    );
  }
}

function refused(message: string): CompiledPattern {
  return { ok: false, message };
}
