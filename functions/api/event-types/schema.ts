import type { EventType } from '../../../shared/domain/event-type/event-type.ts';
import { validate } from '../../../shared/domain/event-type/json-schema.ts';
import { checkSchema } from '../../../shared/domain/event-type/json-schema-check.ts';
import type { ApiPorts } from '../dependencies.ts';
import { invalidFields } from '../errors.ts';

/** Far more than an example of 16 KiB needs with a usual schema: some milliseconds. */
const EXAMPLE_STEPS = 100_000;

/** @throws RefusedRequest if the schema cannot be used, or the example does not fit it */
export async function checkSchemaAndExample(
  { loadPatterns }: Pick<ApiPorts, 'loadPatterns'>,
  { schema, example }: Pick<EventType, 'schema' | 'example'>,
): Promise<void> {
  if (schema === undefined) return;
  const compilePattern = await loadPatterns();
  const faults = checkSchema(schema, compilePattern);
  if (faults.length > 0) throw invalidFields(faults);
  if (example === undefined) return;
  const fit = validate(schema, example, { compilePattern, steps: EXAMPLE_STEPS });
  switch (fit.kind) {
    case 'valid':
      return;
    case 'invalid':
      throw invalidFields([{ field: `example${fit.path}`, message: fit.detail }]);
    case 'undecided':
      throw invalidFields([
        { field: 'schema', message: `takes more than ${EXAMPLE_STEPS} steps to check the example` },
      ]);
  }
}
