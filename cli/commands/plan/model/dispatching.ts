import { MAX_BODY_IN_JOB } from '../../../../shared/domain/message-body.ts';
import type { Jobs } from './jobs.ts';
import { requestsFor } from './sqs-requests.ts';
import type { Steps } from './steps.ts';
import { noUnits, sum, times, type Units } from './units.ts';
import type { Waits } from './waits.ts';
import type { Work } from './work.ts';

/** What dispatch does for all messages. */
export const dispatching = (
  { messages, fanOut, payloadBytes }: Work,
  { chunks, singles }: Jobs,
  steps: Steps,
): { units: Units; waits: Waits } => {
  const jobs = chunks + singles;
  const message = sum(
    steps.message,
    times(steps.addressee, fanOut),
    times(steps.job, jobs),
    payloadBytes > MAX_BODY_IN_JOB ? steps.bucket.message : noUnits,
  );
  const units = {
    ...message,
    // Ten jobs a request, so this is no straight line; weighed in `sqsRequests`, and one was counted.
    sendRequests: 0,
    awsCalls: message.awsCalls + requestsFor(jobs) - 1,
  };
  return {
    units: times(units, messages),
    waits: { awsCalls: messages * units.awsCalls, attempts: 0, failedAttempts: 0 },
  };
};
