import { MAX_BODY_IN_JOB } from '../../../../shared/domain/message/body.ts';
import type { Jobs } from './jobs.ts';
import { ofInvocation, requestsFor } from './joined-sends.ts';
import type { Steps } from './steps.ts';
import { noUnits, sum, times, type Units } from './units.ts';
import type { Waits } from './waits.ts';
import type { Work } from './work.ts';

/** What dispatch does for all messages. */
export function dispatching(
  { messages, fanOut, payloadBytes, batches }: Work,
  { chunks, singles }: Jobs,
  steps: Steps,
): { units: Units; waits: Waits } {
  const jobs = chunks + singles;
  const message = sum(
    steps.message,
    times(steps.addressee, fanOut),
    times(steps.job, jobs),
    payloadBytes > MAX_BODY_IN_JOB ? steps.bucket.message : noUnits,
  );
  // Ten jobs a request, so this is no straight line; weighed in `sqsRequests`, and one was counted.
  const beforeSends = message.awsCalls - 1;
  const sends = ofInvocation({ records: batches.ingress, messages: jobs }, requestsFor) / batches.ingress;
  const units = { ...message, sendRequests: 0, awsCalls: beforeSends + sends };
  return {
    units: times(units, messages),
    waits: { awsCalls: messages * (beforeSends + requestsFor(jobs)), attempts: 0, failedAttempts: 0 },
  };
}
