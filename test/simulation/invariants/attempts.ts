import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
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

/** A round has at most 1 + the policy's retries; attempt numbers have no gaps, and rounds never decrease. */
export const attemptsAreNumbered: Invariant = (one) => {
  const { record } = one;
  if (record === undefined) return [];
  const { attempts, round } = record;
  const findings: Finding[] = [];
  if (attempts.some(({ number }, index) => number !== index + 1))
    findings.push(violation('numbers_have_no_gap', one, attempts.map(({ number }) => number).join()));
  const rounds = [...attempts.map((attempt) => attempt.round), round];
  if (rounds.some((each, index) => each < (rounds[index - 1] ?? 1)))
    findings.push(violation('rounds_follow_each_other', one, rounds.join()));
  return [...findings, ...rounds.flatMap((each) => roundIsWithinPolicy(one, record, each))];
};

const roundIsWithinPolicy = (one: DeliveryCase, record: Delivery, round: number): Finding[] => {
  const made = record.attempts.filter((attempt) => attempt.round === round).length;
  const most = maxAttempts(one, round);
  if (made > most) return [violation('attempts_within_policy', one, `${made} of ${most} in round ${round}`)];
  return record.status === 'exhausted' && round === record.round && made !== most
    ? [violation('exhausted_used_all_attempts', one, `${made} of ${most}`)]
    : [];
};

/** A recovery reopens each delivery once, even if its operation is received repeatedly. */
export const oncePerRecovery: Invariant = (one) => {
  const recoveries = one.writes.flatMap(({ transition, after }) =>
    transition.name === 'reopen' && 'change' in transition && transition.change.recoveries !== undefined
      ? [String(after.recoveries.at(-1))]
      : [],
  );
  return new Set(recoveries).size === recoveries.length
    ? []
    : [violation('once_per_recovery', one, recoveries.join())];
};

/** From the policy stored in that round; before the first failure there is one attempt. */
const maxAttempts = ({ writes }: DeliveryCase, round: number): number => {
  const policy = writes.findLast(({ after }) => after.round === round && after.policy !== undefined)?.after
    .policy;
  return policy === undefined ? 1 : 1 + retriesOf(policy);
};

/** The records match what the receivers saw. */
export const recordsMatchRequests: Invariant = (one) => {
  const recorded = one.writes.flatMap((write) => {
    const { transition } = write;
    if (transition.name !== 'record') return [];
    const attempt =
      'create' in transition ? transition.create.attempts.at(-1) : transition.change.appendAttempt;
    return attempt === undefined ? [] : compareRecord(one, write, attempt);
  });
  return [...recorded, ...endMatchesAttempts(one), ...lateSuccess(one)];
};

const retriedStatuses = ({ actor: { settings }, after }: Write): readonly number[] => {
  const listed = after.policy?.retry_on_status ?? [];
  return settings.retryThrottled || settings.adaptToThrottling ? [...listed, 429] : listed;
};

const compareRecord = (one: DeliveryCase, write: Write, attempt: Attempt): Finding[] => {
  const request = one.requests.find(
    ({ actor, grant }) => actor === write.actor && grant?.number === attempt.number,
  );
  // The attempt may have failed after a 401, because there was no new token.
  if (!needsRequest(attempt)) return [];
  if (request === undefined)
    return [violation('records_match_requests', one, `no request ${attempt.number}`)];
  const expected = expectedOutcome(request.reply, retriedStatuses(write));
  const isRight = expected === attempt.outcome && statusOf(request.reply) === statusOf(attempt.result);
  return isRight
    ? []
    : [violation('records_match_requests', one, `${attempt.outcome} for ${JSON.stringify(request.reply)}`)];
};

/** Without a permitted address or a token no request is sent. */
export const needsRequest = ({ result }: Attempt): boolean =>
  result.kind !== 'forbidden' && !(result.kind === 'unanswered' && result.error === 'auth_failed');

const statusOf = (reply: Reply | Attempt['result']): number | undefined =>
  reply.kind === 'answered' ? reply.statusCode : undefined;

/**
 * The outcome by the table in docs/retry-policy.md#what-is-retried. `listed`: `retry_on_status` of the recorded policy.
 */
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

/** A finished delivery's status matches its last attempt. */
const endMatchesAttempts = (one: DeliveryCase): Finding[] => {
  const { record, requests } = one;
  if (record === undefined) return [];
  switch (record.status) {
    case 'delivered':
      return requests.some((request) => isRecordedSuccess(one, request))
        ? []
        : [violation('delivered_means_2xx', one, 'no 2xx was received')];
    case 'rejected':
    case 'exhausted': {
      const outcome = record.attempts.at(-1)?.outcome;
      const expected = record.status === 'rejected' ? 'rejected' : 'failed';
      return outcome === expected
        ? []
        : [violation('ends_with_last_attempt', one, `${record.status} after ${outcome}`)];
    }
    // Checked by a separate invariant.
    case 'cancelled':
    case 'pending':
    case 'retrying':
      return [];
  }
};

/** A known success always wins, until an operator opens another round. */
const lateSuccess = (one: DeliveryCase): Finding[] => {
  const { record } = one;
  const isKnown = record?.lateResults.some(
    ({ outcome, round }) => outcome === 'delivered' && round === record.round,
  );
  return isKnown === true && record?.status !== 'delivered'
    ? [violation('delivered_wins', one, `${record?.status} with a late success`)]
    : [];
};

const isRecordedSuccess = (one: DeliveryCase, request: DeliveryCase['requests'][number]): boolean =>
  expectedOutcome(request.reply, undefined) === 'delivered' &&
  (recordOf(one, request) ?? lateRecordOf(one, request)) !== undefined;
