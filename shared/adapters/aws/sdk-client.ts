import { NO_DEADLINE } from '../lambda/invocation-deadline.ts';
import { failureNoteFor, MAX_ATTEMPTS, RetriesUntilDeadline } from './retries.ts';
import { RequestsUntilDeadline } from './requests.ts';
import type { Invocation } from './service-options.ts';

/** The rest is for callers outside AWS: a function finds it in its environment. */
export type ClientOptions<Config> = Config & Invocation;

/** For every client of the SDK: requests that end, and repeats that end before the function does. */
export function bounded(awsService: string, { deadline = NO_DEADLINE, journal }: Invocation) {
  return {
    maxAttempts: MAX_ATTEMPTS,
    retryStrategy: new RetriesUntilDeadline(MAX_ATTEMPTS, deadline, failureNoteFor(journal, awsService)),
    requestHandler: new RequestsUntilDeadline(deadline, awsService === 's3' ? 'stream' : 'bytes'),
  };
}
