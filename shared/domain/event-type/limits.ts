import { isMultiple } from './json-values.ts';

const isAtMost = (value: number, limit: number): boolean => value <= limit;
const isAtLeast = (value: number, limit: number): boolean => value >= limit;

/** Keywords that compare a number with a limit, and what they demand. */
export const LIMITS = {
  multipleOf: { holds: isMultiple, rule: 'a multiple of', unit: '' },
  maximum: { holds: isAtMost, rule: 'at most', unit: '' },
  minimum: { holds: isAtLeast, rule: 'at least', unit: '' },
  exclusiveMaximum: { holds: (value: number, limit: number) => value < limit, rule: 'below', unit: '' },
  exclusiveMinimum: { holds: (value: number, limit: number) => value > limit, rule: 'above', unit: '' },
  maxLength: { holds: isAtMost, rule: 'at most', unit: ' characters' },
  minLength: { holds: isAtLeast, rule: 'at least', unit: ' characters' },
  maxItems: { holds: isAtMost, rule: 'at most', unit: ' items' },
  minItems: { holds: isAtLeast, rule: 'at least', unit: ' items' },
  maxContains: { holds: isAtMost, rule: 'at most', unit: ' items that match contains' },
  minContains: { holds: isAtLeast, rule: 'at least', unit: ' items that match contains' },
  maxProperties: { holds: isAtMost, rule: 'at most', unit: ' properties' },
  minProperties: { holds: isAtLeast, rule: 'at least', unit: ' properties' },
};
