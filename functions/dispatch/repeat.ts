import { DAY_MS } from '../../shared/domain/duration.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { withAcceptedVersion } from '../../shared/domain/message/version.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import { messageIn } from '../../shared/steps/keep-message.ts';

/** One SQS message's copy of a message. `body`: where jobs have it from. `isFetched`: its data was read from where it refers to. */
export type ReceivedCopy = { message: Message; body: BodyLocation; version: string; isFetched: boolean };

/** Why a repeat sends nothing: it is not what was accepted, or comes after the window. Else the accepted message. */
export type RepeatResult = { differs: true } | { late: true } | { message: Message; body: BodyLocation };

type RepeatContext = {
  ports: { clock: Pick<Clock, 'now'>; payloads: Payloads };
  settings: { retentionMs: number };
};

/** How long before the end of the window a repeat sends nothing any more: its jobs may wait in SQS. */
const FOR_ITS_JOBS_MS = DAY_MS;

/**
 * A repeat completes what a crash of dispatch left undone. It only ever sends the version that was accepted, so that all
 * deliveries, and all attempts of each, send the same. A copy that says something else sends nothing: as long as jobs of the
 * accepted version may be missing, its first copy is still in SQS, and brings them about. Neither does one that comes after
 * the window: the record may live longer, for the body's sake, than those of deliveries that ended well.
 */
export async function resolveRepeat(
  { ports, settings }: RepeatContext,
  record: MessageRecord,
  copy: ReceivedCopy,
): Promise<RepeatResult> {
  const { acceptedAt, accepted } = record;
  if (accepted !== undefined && accepted.digest !== copy.version) return { differs: true };
  if (ports.clock.now() >= acceptedAt + settings.retentionMs - FOR_ITS_JOBS_MS) return { late: true };
  return acceptedCopy(ports.payloads, record, copy);
}

/**
 * The body from the record where it keeps one. The data of the same version is the same, unless the message only refers to it:
 * then it may have changed since the message was accepted.
 */
async function acceptedCopy(
  payloads: Payloads,
  { body, accepted }: MessageRecord,
  copy: ReceivedCopy,
): Promise<Pick<ReceivedCopy, 'message' | 'body'>> {
  if (body !== undefined) {
    const kept = copy.isFetched ? await messageIn(payloads, body) : undefined;
    return { body, message: kept ?? copy.message };
  }
  // Stored, and not on record: it was erased, and deliver has to find that out.
  if (accepted === undefined || copy.body.kind === 'stored') return copy;
  const message = withAcceptedVersion(copy.message, accepted);
  return { message, body: { kind: 'inline', message } };
}
