import type { CompiledPattern, CompilePattern } from './pattern.ts';

/** What an evaluation may still take. `left`: steps. `patterns`: those it has used. */
export type Budget = {
  left: number;
  compilePattern: CompilePattern;
  patterns: Map<string, CompiledPattern & { ok: true }>;
};

/** Ends an evaluation inside any applicator: neither yes nor no, so that `not` cannot make a yes of it. */
export class UndecidedError extends Error {
  override readonly name = 'UndecidedError';
}

/** @throws UndecidedError */
export function spend(budget: Budget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new UndecidedError();
}

/** Characters, or names of the schema, that are read in the time of a step. */
export const READ_PER_STEP = 16;

/** Names of the data, which are many and in no cache. */
export const NAMES_PER_STEP = 4;

/** Instructions times characters of a pattern in the time of a step. */
const PATTERN_WORK_PER_STEP = 4;

/** @throws UndecidedError */
export function isMatch(budget: Budget, source: string, text: string): boolean {
  const pattern = budget.patterns.get(source) ?? compile(budget, source);
  spend(budget, 1 + (pattern.size * text.length) / PATTERN_WORK_PER_STEP);
  return pattern.test(text);
}

/** A step for each instruction: the patterns of a schema may be more than are kept for the next message. */
function compile(budget: Budget, source: string): CompiledPattern & { ok: true } {
  const pattern = budget.compilePattern(source);
  if (!pattern.ok) throw new UndecidedError();
  spend(budget, pattern.size);
  budget.patterns.set(source, pattern);
  return pattern;
}
