import type { Attempt } from '../../../shared/domain/attempt.ts';
import type { Reply } from '../../../shared/domain/outcome.ts';
import type { Write } from '../history.ts';
import { retriesOf } from '../expected-schedule.ts';
import {
  lateRecordOf,
  recordOf,
  violation,
  type DeliveryCase,
  type Finding,
  type Invariant,
} from './delivery-case.ts';

/** In a round, attempts never exceed 1 + the policy's retries; numbers have no gap and no repeat. */
export const attemptsAreNumbered: Invariant = (one) => {
  const { record } = one;
  if (record === undefined) return [];
  const { attempts, policy, status } = record;
  const findings: Finding[] = [];
  if (attempts.some(({ number, round }, index) => number !== index + 1 || round !== 1))
    findings.push(violation('numbers_have_no_gap', one, attempts.map(({ number }) => number).join()));
  const most = policy === undefined ? 1 : 1 + retriesOf(policy);
  if (attempts.length > most)
    findings.push(violation('attempts_within_policy', one, `${attempts.length} of ${most}`));
  if (status === 'exhausted' && attempts.length !== most)
    findings.push(violation('exhausted_means_all', one, `${attempts.length} of ${most}`));
  return findings;
};

/** What is on record is what the receivers saw. */
export const recordsTellTheTruth: Invariant = (one) => {
  const recorded = one.writes.flatMap((write) => {
    const { transition } = write;
    if (transition.name !== 'record' || !('change' in transition)) return [];
    return transition.change.appendAttempt === undefined
      ? []
      : compared(one, write, transition.change.appendAttempt);
  });
  return [...recorded, ...endedRightly(one), ...lateSuccess(one)];
};

const compared = (one: DeliveryCase, write: Write, attempt: Attempt): Finding[] => {
  const request = one.requests.find(
    ({ actor, grant }) => actor === write.actor && grant?.number === attempt.number,
  );
  if (request === undefined)
    return attempt.error === 'address_forbidden'
      ? []
      : [violation('records_tell_the_truth', one, `no request ${attempt.number}`)];
  const expected = expectedOutcome(request.reply, write.after.policy?.retry_on_status);
  const isRight = expected === attempt.outcome && statusOf(request.reply) === attempt.statusCode;
  return isRight
    ? []
    : [violation('records_tell_the_truth', one, `${attempt.outcome} for ${JSON.stringify(request.reply)}`)];
};

const statusOf = (reply: Reply): number | undefined =>
  reply.kind === 'answered' ? reply.statusCode : undefined;

/** The outcome that is right by the table of design §3. Where a policy is on record, it says what is listed. */
const expectedOutcome = (reply: Reply, listed: readonly number[] | undefined): Attempt['outcome'] => {
  switch (reply.kind) {
    case 'forbidden':
      return 'rejected';
    case 'unanswered':
      return 'failed';
    case 'answered':
      return expectedOfStatus(reply.statusCode, listed ?? []);
  }
};

const expectedOfStatus = (statusCode: number, listed: readonly number[]): Attempt['outcome'] => {
  if (statusCode < 200 || statusCode >= 500) return 'failed';
  if (statusCode < 300) return 'delivered';
  return statusCode !== 410 && listed.includes(statusCode) ? 'failed' : 'rejected';
};

/** A delivery that is over ended for a reason that the receiver, or nobody else, knows. */
const endedRightly = (one: DeliveryCase): Finding[] => {
  const { record, requests } = one;
  if (record === undefined) return [];
  switch (record.status) {
    case 'delivered':
      return requests.some((request) => isHeardSuccess(one, request))
        ? []
        : [violation('delivered_means_answered', one, 'no 2xx was heard')];
    case 'rejected':
    case 'exhausted': {
      const outcome = record.attempts.at(-1)?.outcome;
      const expected = record.status === 'rejected' ? 'rejected' : 'failed';
      return outcome === expected
        ? []
        : [violation('ends_by_its_last_attempt', one, `${record.status} after ${outcome}`)];
    }
    case 'cancelled':
      return cancelledRightly(one);
    case 'pending':
    case 'retrying':
      return [];
  }
};

/** Whenever a success comes to be known, it wins. */
const lateSuccess = (one: DeliveryCase): Finding[] => {
  const isKnown = one.record?.lateResults.some(({ outcome }) => outcome === 'delivered') ?? false;
  return isKnown && one.record?.status !== 'delivered'
    ? [violation('delivered_wins', one, `${one.record?.status} with a late success`)]
    : [];
};

const isHeardSuccess = (one: DeliveryCase, request: DeliveryCase['requests'][number]): boolean =>
  expectedOutcome(request.reply, undefined) === 'delivered' &&
  (recordOf(one, request) ?? lateRecordOf(one, request)) !== undefined;

const cancelledRightly = (one: DeliveryCase): Finding[] => {
  const { world, record, subscriptionId, messageId } = one;
  const versions = world.subscriptions.versionsOf(subscriptionId);
  const isTrue: Partial<Record<string, boolean>> = {
    subscription_deleted: versions.some(({ value }) => value === undefined),
    subscription_expired: versions.some(({ value }) => value?.expiresAt !== undefined),
    disabled: versions.some(({ value }) => value?.disabled !== undefined),
    message_expired: world.scenario.messages.some(
      ({ id, ttlSeconds }) => id === messageId && ttlSeconds !== undefined,
    ),
    // Told by an invariant of its own.
    body_missing: true,
  };
  return isTrue[record?.reason ?? ''] === true
    ? []
    : [violation('cancelled_for_a_reason', one, String(record?.reason))];
};
