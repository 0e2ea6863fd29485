/**
 * A failure as one line. Some Node errors, such as a refused connection, have no message: only a code or nested errors.
 */
export function failureText(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  if (failure.message !== '') return failure.message.replaceAll(/\s*\n\s*/g, ' ');
  if (failure instanceof AggregateError && failure.errors.length > 0) return failureText(failure.errors[0]);
  return 'code' in failure ? String(failure.code) : failure.name;
}
