import { ApiRefusal } from '../../../api-client/refusal.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';

/** Whether each rejected field is one of `names`, so that its error is shown beside it. */
export function areMarked(fields: readonly FieldError[], names: readonly string[]): boolean {
  return fields.length > 0 && fields.every(({ field }) => nameOf(pathOf(field), names) !== undefined);
}

/** Errors by the name of a form field. */
export type Faults = ReadonlyMap<string, string>;

/** The fields that the API rejected. `failure`: of an action, if it failed. */
export function rejectedFields(action: { state: string; failure?: unknown }): readonly FieldError[] {
  return action.failure instanceof ApiRefusal ? action.failure.fields : [];
}

/**
 * Errors of the API by form field. A path below a field, such as `options.filter.total[0]`, belongs to it and begins
 * the error. `otherwise`: the form field for all other paths.
 */
export function faultsByField(
  fields: readonly FieldError[],
  names: readonly string[],
  otherwise?: string,
): Faults {
  const faults = new Map<string, string>();
  for (const { field, message } of fields) {
    const path = pathOf(field);
    const name = nameOf(path, names);
    const key = name ?? otherwise;
    if (key === undefined) continue;
    const below = name === undefined ? path : path.slice(name.length).replace(/^\./, '');
    const text = below === '' ? message : `${below}: ${message}`;
    faults.set(key, faults.has(key) ? `${faults.get(key) ?? ''}; ${text}` : text);
  }
  return faults;
}

function pathOf(field: string): string {
  return field.replace(/^options\./, '');
}

/** The form field that a path names, or is below of. */
function nameOf(path: string, names: readonly string[]): string | undefined {
  return names.find(
    (one) => path === one || (/^[.[]/.test(path.slice(one.length, one.length + 1)) && path.startsWith(one)),
  );
}
