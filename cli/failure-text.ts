/** A failure in one line. Some of Node's have no message but only a code or other errors, such as a refused connection. */
export function failureText(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  if (failure.message !== '') return failure.message.replaceAll(/\s*\n\s*/g, ' ');
  if (failure instanceof AggregateError && failure.errors.length > 0) return failureText(failure.errors[0]);
  return 'code' in failure ? String(failure.code) : failure.name;
}
