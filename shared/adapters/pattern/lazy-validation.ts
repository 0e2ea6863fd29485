import type { ValidateEvent } from '../../ports/event-types.ts';
import { once } from '../lambda/on-demand.ts';

/** Most steps of one message: some 50 ms of a processor for the worst schema and data (bench/validation). */
const MAX_STEPS = 200_000;

/** Validation by JSON Schema; its code is loaded by the first message that needs it. */
export function lazyValidation(): ValidateEvent {
  const validation = once(async () => {
    const [{ validate }, { re2Patterns }] = await Promise.all([
      import('../../domain/event-type/json-schema.ts'),
      import('./re2.ts'),
    ]);
    const limits = { compilePattern: re2Patterns(), steps: MAX_STEPS };
    return (schema: unknown, data: unknown) => validate(schema, data, limits);
  });
  return async (schema, data) => (await validation())(schema, data);
}
