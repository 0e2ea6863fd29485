import type { CompilePattern } from '../../domain/event-type/pattern.ts';
import { once } from '../lambda/on-demand.ts';

export function lazyRe2Patterns(): () => Promise<CompilePattern> {
  return once(async () => (await import('./re2.ts')).re2Patterns());
}
