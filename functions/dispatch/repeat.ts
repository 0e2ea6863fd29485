import { DAY_MS } from '../../shared/domain/duration.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { retentionOf } from '../../shared/domain/retention.ts';
import { withAcceptedVersion } from '../../shared/domain/message/version.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import { readMessage } from '../../shared/steps/keep-message.ts';

/**
 * One received copy of a message. `body`: where its jobs read it. `isFromReference`: the data was read from its reference.
 */
export type ReceivedCopy = {
  message: Message;
  body: BodyLocation;
  version: string;
  isFromReference: boolean;
};

/** The accepted message to send again, or why nothing is sent: a different version, or after the retention window. */
export type RepeatResult = { differs: true } | { late: true } | { message: Message; body: BodyLocation };

type RepeatContext = {
  ports: { clock: Pick<Clock, 'now'>; payloads: Payloads };
  settings: { retentionMs: number };
};

/** A redelivery within this time before the retention window's end sends nothing: its jobs may wait in SQS. */
const JOB_MARGIN_MS = DAY_MS;

/**
 * What to send for a redelivered message, to complete what a crash left undone. Only the accepted version is sent, so
 * that all deliveries and attempts send the same. A copy of another version, or one after the window, sends nothing.
 */
export async function resolveRepeat(
  { ports, settings }: RepeatContext,
  record: MessageRecord,
  copy: ReceivedCopy,
): Promise<RepeatResult> {
  const { acceptedAt, accepted } = record;
  if (accepted !== undefined && accepted.digest !== copy.version) return { differs: true };
  const forgottenAt = acceptedAt + retentionOf(record, settings);
  if (ports.clock.now() >= forgottenAt - JOB_MARGIN_MS) return { late: true };
  return acceptedCopy(ports.payloads, record, copy);
}

/**
 * The accepted message with the body stored in its record, if there is one. Referenced data may have changed since
 * the acceptance, so the stored copy replaces it.
 */
async function acceptedCopy(
  payloads: Payloads,
  { body, accepted }: MessageRecord,
  copy: ReceivedCopy,
): Promise<Pick<ReceivedCopy, 'message' | 'body'>> {
  if (body !== undefined) {
    const kept = copy.isFromReference ? await readMessage(payloads, body) : undefined;
    return { body, message: kept ?? copy.message };
  }
  // A body in the bucket was on the record from the start, so this one was erased since: deliver cancels its jobs.
  if (accepted === undefined || copy.body.kind === 'stored') return copy;
  const message = withAcceptedVersion(copy.message, accepted);
  return { message, body: { kind: 'inline', message } };
}
