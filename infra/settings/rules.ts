import { z } from 'zod';

/** `-c key=value` brings text, cdk.json brings values: both mean the same. What is no JSON is left for the schema to refuse. */
export const valueOf = (given: unknown): unknown => {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
};

export const listOf = (given: unknown): unknown => {
  const value = valueOf(given);
  return typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value;
};

export const wholeNumber = (unit: string, from: number, to: number) => {
  const rule = `must be a whole number of ${unit} from ${from} to ${to}`;
  return z.preprocess(valueOf, z.number(rule).int(rule).min(from, rule).max(to, rule));
};

export const oneOf = <const T extends string>(...words: readonly T[]) =>
  z.enum(words, `must be one of ${words.join(', ')}`);

export const flag = () => z.preprocess(valueOf, z.boolean('must be true or false'));
