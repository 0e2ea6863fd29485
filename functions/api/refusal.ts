import { UnknownCredentialsError } from '../../shared/domain/subscription/credential-headers.ts';
import { ContendedRecoveryError } from './recoveries/recoveries.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { ContendedChangeError, QueueBusyError, QueueMissingError } from '../../shared/ports/subscriptions.ts';
import { invalidFields, RefusedRequest } from './errors.ts';

/** What a fault is an answer of, if it is the caller's or nobody's; undefined: it is ours. */
export function refusalOf(error: unknown): RefusedRequest | undefined {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof InvalidMarkerError) {
    return invalidFields([{ field: 'marker', message: 'is not from this listing' }]);
  }
  if (error instanceof QueueMissingError) {
    return new RefusedRequest('conflict', 'the queue was deleted meanwhile');
  }
  if (error instanceof QueueBusyError) {
    return new RefusedRequest(
      'conflict',
      'subscriptions kept being added or changed meanwhile; the queue is still there',
    );
  }
  if (error instanceof ContendedChangeError) {
    return new RefusedRequest('conflict', 'it kept being changed by others meanwhile; ask again');
  }
  if (error instanceof ContendedRecoveryError) {
    return new RefusedRequest('conflict', 'it kept moving on meanwhile; ask again');
  }
  if (error instanceof UnknownCredentialsError) {
    return invalidFields(
      error.headers.map((header) => ({
        field: `options.post_headers.${header}`,
        message: `is redacted, and there is no value to keep: give the value`,
      })),
    );
  }
  return undefined;
}
