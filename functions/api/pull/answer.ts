import * as z from 'zod';
import { contended, withRetriedWrites } from '../../../shared/domain/contention.ts';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { decide } from '../../../shared/domain/delivery/decide.ts';
import {
  type Delivery,
  type DeliveryKey,
  isOpen,
  nameOfDelivery,
} from '../../../shared/domain/delivery/delivery.ts';
import {
  buildAttempt,
  lateAcknowledgement,
  type PullResult,
  type ReceivedDelivery,
  retainedForPull,
} from '../../../shared/domain/delivery/pull.ts';
import { isMessageId } from '../../../shared/domain/message/message.ts';
import type { RetryDefaults } from '../../../shared/domain/subscription/delivery-policy.ts';
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { recordResult } from '../../../shared/steps/record-received.ts';
import { writeTime } from '../../../shared/steps/retention.ts';
import { findPolicy } from '../deliveries/routes.ts';
import type { ApiPorts, ApiSettings } from '../dependencies.ts';

type AnswerContext = Pick<ApiPorts, 'clock' | 'deliveries' | 'wakeUps' | 'journal'> & {
  registry: Pick<Registry, 'findQueue' | 'findSubscription'>;
  settings: Pick<ApiSettings, 'retentionMs'> & RetryDefaults;
};

/** What a subscriber says of a delivery that it received. */
export type PullAnswer = Exclude<PullResult, { kind: 'lapsed' }>;

/** `unknown`: there is no such delivery. `expired`: it was received again, has another answer, or failed at the end of its lease. */
export type AnswerResult = 'recorded' | 'unknown' | 'expired';

/**
 * Records what a subscriber says of a received delivery. Idempotent.
 * @throws ContendedError, and AWS errors: safe to repeat
 */
export function answerReceived(
  context: AnswerContext,
  receipt: Receipt,
  answer: PullAnswer,
): Promise<AnswerResult> {
  const attempt = async (): Promise<AnswerResult | 'again'> => {
    const current = await context.deliveries.find(receipt.key);
    if (current === undefined) return 'unknown';
    const received = receivedBy(receipt, current);
    if (received === undefined) {
      // An acknowledgement counts until the delivery is received again, however late it comes.
      const late =
        answer.kind === 'acknowledged'
          ? lateAcknowledgement(current, receipt, context.clock.now())
          : undefined;
      if (late !== undefined) return recordLate(context, current, late);
      return current.attempts[receipt.attempt - 1]?.result.kind === answer.kind ? 'recorded' : 'expired';
    }
    if (isOpen(current)) return record(context, received, answer);
    // The cancellation counted this receive as lost.
    const before = { ...received, lost: received.lost - 1 };
    return recordLate(context, received, buildAttempt(before, answer, context.clock.now()));
  };
  return withRetriedWrites(attempt, contended(nameOfDelivery(receipt.key)));
}

/**
 * The delivery, if the receipt's lease is on record. After its end it counts until that is recorded, and it outlasts a
 * cancellation: what is in flight can still succeed.
 */
function receivedBy({ owner, attempt }: Receipt, current: Delivery): ReceivedDelivery | undefined {
  const { lease, attempts } = current;
  return lease?.owner === owner && attempts.length === attempt - 1 ? { ...current, lease } : undefined;
}

async function record(
  context: AnswerContext,
  received: ReceivedDelivery,
  answer: PullAnswer,
): Promise<AnswerResult | 'again'> {
  const { clock, settings, wakeUps } = context;
  // A success is not retried and needs none.
  const policy =
    answer.kind === 'acknowledged'
      ? (received.policy ?? settings.defaultRetryPolicy)
      : (await findPolicy(context, received)).policy;
  const at = writeTime({ ports: { clock }, settings }, retainedForPull(received, settings));
  const recorded = await recordResult(context, received, { result: answer, policy }, at);
  if (recorded === undefined) return 'again';
  const { key, pendingSteps, attempts } = recorded;
  // deliver does the pending steps of a delivery that has ended. reconcile wakes it if this fails.
  if (pendingSteps.length > 0)
    await wakeUps.sendDelayed({ kind: 'wake_up', key, attempt: attempts.length, dueAt: clock.now() }, 0);
  return 'recorded';
}

/** Records an answer to a delivery that was cancelled after it was received, or whose lease ended: a success still counts. */
async function recordLate(
  { clock, deliveries, journal, settings }: AnswerContext,
  current: Delivery,
  attempt: Attempt,
): Promise<AnswerResult | 'again'> {
  const { key, acceptedAt, status, lateResults } = current;
  if (lateResults.some(({ startedAt }) => startedAt === attempt.startedAt)) return 'recorded';
  const at = writeTime({ ports: { clock }, settings }, current);
  const written = await deliveries.write(decide({ kind: 'late', delivery: current, attempt }, at));
  if (written.kind === 'refused') return 'again';
  const decisive = written.delivery.status !== status;
  journal.note({ fact: 'late_result', key, attempt, decisive, acceptedAt });
  return 'recorded';
}

/**
 * Names one receive of a delivery. Nothing in it is trusted: the record of the delivery has the owner of the lease,
 * which is random.
 */
export type Receipt = { key: DeliveryKey; attempt: number; owner: string };

const VERSION = 1;

const receiptSchema = z.tuple([
  z.literal(VERSION),
  z.string(),
  z.string().refine(isMessageId),
  z.string(),
  z.int().nonnegative(),
  z.int().positive(),
  z.string(),
]);

/** More than the longest names need. In characters. */
export const MAX_RECEIPT_LENGTH = 1024;

export function receiptText({ key, attempt, owner }: Receipt): string {
  const { queue, messageId, subscriptionId, bucket } = key;
  const parts = [VERSION, queue, messageId, subscriptionId, bucket, attempt, owner];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Undefined: no receipt of this version. */
export function parseReceipt(text: string): Receipt | undefined {
  const parsed = receiptSchema.safeParse(jsonOrUndefined(Buffer.from(text, 'base64url').toString()));
  if (!parsed.success) return undefined;
  const [, queue, messageId, subscriptionId, bucket, attempt, owner] = parsed.data;
  return { key: { queue, messageId, subscriptionId, bucket }, attempt, owner };
}
