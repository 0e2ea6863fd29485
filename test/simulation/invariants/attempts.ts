import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { Reply } from '../../../shared/domain/retry/outcome.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import type { Write } from '../history.ts';
import {
  type DeliveryCase,
  type Finding,
  type Invariant,
  lateRecordOf,
  recordOf,
  violation,
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

/**
 * The delay in seconds before each retry, without jitter. Written from docs/retry-policy.md, independently of the code
 * under test.
 */
const expectedDelays = (policy: RetryPolicy): number[] => {
  const { minimum_delay: MIN, maximum_delay: MAX, backoff_retries: NUM } = policy;
  const delays: number[] = [];
  for (let i = 0; i < policy.retries_with_no_delay; i += 1) delays.push(0);
  for (let i = 0; i < policy.minimum_delay_retries; i += 1) delays.push(MIN);
  for (let n = 1; n <= NUM; n += 1) delays.push(NUM === 1 ? MIN : backoffDelay(policy, n));
  for (let i = 0; i < policy.maximum_delay_retries; i += 1) delays.push(MAX);
  return delays;
};

const backoffDelay = (policy: RetryPolicy, n: number): number => {
  const { minimum_delay: MIN, maximum_delay: MAX, backoff_retries: NUM } = policy;
  switch (policy.retry_backoff_function) {
    case 'linear':
      return MIN + ((MAX - MIN) / (NUM - 1)) * (n - 1);
    case 'arithmetic':
      return MIN + ((n * (n - 1)) / 2) * ((2 * (MAX - MIN)) / (NUM * (NUM - 1)));
    case 'geometric':
    case 'exponential':
      return MIN * Math.exp((Math.log(MAX / MIN) * (n - 1)) / (NUM - 1));
    case 'capped_exponential':
      return Math.min(MAX, MIN * policy.backoff_exponent ** (n - 1));
  }
};

const retriesOf = (policy: RetryPolicy): number =>
  policy.retries_with_no_delay +
  policy.minimum_delay_retries +
  policy.backoff_retries +
  policy.maximum_delay_retries;

/** The bounds of a delay in milliseconds, including jitter. */
export const expectedDelayMs = (
  policy: RetryPolicy,
  retry: number,
): { least: number; most: number } | undefined => {
  const seconds = expectedDelays(policy)[retry - 1];
  if (seconds === undefined) return undefined;
  const least = { none: 1, equal: 0.5, full: 0 }[policy.jitter];
  return { least: seconds * 1000 * least, most: seconds * 1000 };
};

/** The delay requested by Retry-After, in milliseconds. Simulated receivers send whole seconds or nonsense. */
export const hintMs = (retryAfter: string | undefined, capMs: number): number =>
  retryAfter !== undefined && /^[0-9]+$/.test(retryAfter) ? Math.min(capMs, Number(retryAfter) * 1000) : 0;
