import { z } from 'zod';

/** `-c key=value` brings text, cdk.json brings values: both mean the same. What is no JSON is left for the schema to refuse. */
export function valueOf(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

export function listOf(given: unknown): unknown {
  const value = valueOf(given);
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
}

export function wholeNumber(unit: string, from: number, to: number) {
  const rule = `must be a whole number of ${unit} from ${from} to ${to}`;
  return z.preprocess(valueOf, z.number(rule).int(rule).min(from, rule).max(to, rule));
}

export function oneOf<const T extends string>(...words: readonly T[]) {
  return z.enum(words, `must be one of ${words.join(', ')}`);
}

export function flag() {
  return z.preprocess(valueOf, z.boolean('must be true or false'));
}
