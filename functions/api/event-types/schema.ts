import type { EventType } from '../../../shared/domain/event-type/event-type.ts';
import type { CheckSchema, ValidateEvent } from '../../../shared/ports/event-types.ts';
import { invalidFields } from '../errors.ts';

/** @throws RefusedRequest if the schema cannot be used, or the example does not fit it as data of a message must */
export async function checkSchemaAndExample(
  { checkSchema, validateEvent }: { checkSchema: CheckSchema; validateEvent: ValidateEvent },
  { schema, example }: Pick<EventType, 'schema' | 'example'>,
): Promise<void> {
  if (schema === undefined) return;
  const faults = await checkSchema(schema);
  if (faults.length > 0) throw invalidFields(faults);
  if (example === undefined) return;
  const fit = await validateEvent(schema, example);
  switch (fit.kind) {
    case 'valid':
      return;
    case 'invalid':
      throw invalidFields([{ field: `example${fit.path}`, message: fit.detail }]);
    case 'undecided':
      throw invalidFields([
        { field: 'schema', message: 'takes more steps to check the example than a message gets' },
      ]);
  }
}
