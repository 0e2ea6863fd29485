import type { CheckSchema, ValidateEvent } from '../../ports/event-types.ts';
import { once } from '../lambda/on-demand.ts';

/** Most steps of one message: some 50 ms of a processor for the worst schema and data. */
const MAX_STEPS = 100_000;

const loadPatterns = once(async () => (await import('./re2.ts')).re2Patterns());

/** Validation by JSON Schema; its code is loaded by the first message that needs it. */
export function lazyValidation(): ValidateEvent {
  const load = once(() => Promise.all([import('../../domain/event-type/json-schema.ts'), loadPatterns()]));
  return async (schema, data) => {
    const [{ validate }, compilePattern] = await load();
    return validate(schema, data, { compilePattern, steps: MAX_STEPS });
  };
}

/** The check of a schema itself; its code is loaded by the first schema. */
export function lazySchemaCheck(): CheckSchema {
  return async (schema) => {
    const { checkSchema } = await import('../../domain/event-type/json-schema-check.ts');
    return checkSchema(schema, await loadPatterns());
  };
}
