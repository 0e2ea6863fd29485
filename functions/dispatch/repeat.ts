import { DAY_MS } from '../../shared/domain/duration.ts';
import { addresseesOf, contentOf, type Addressees } from '../../shared/domain/message/addressees.ts';
import type { MessageBody } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { asAccepted } from '../../shared/domain/message/version.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import type { SubscriptionList, Subscriptions } from '../../shared/ports/subscriptions.ts';
import { messageIn } from '../../shared/steps/keep-message.ts';

/** One SQS message's copy of a message. `body`: where jobs have it from. `isFetched`: its data was read from where it refers to. */
export type Copy = { message: Message; body: MessageBody; version: string; isFetched: boolean };

/** What a repeat sends: the accepted message, and to whom. `matching` is empty where it `differs` or is `late`. */
export type Resent = { body: MessageBody; differs: boolean; late: boolean } & Pick<
  Addressees,
  'matching' | 'undecided'
>;

type RepeatContext = {
  ports: { clock: Pick<Clock, 'now'>; payloads: Payloads; subscriptions: Subscriptions };
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
export async function repeated(
  { ports, settings }: RepeatContext,
  record: MessageRecord,
  copy: Copy,
  list: SubscriptionList,
): Promise<Resent> {
  const { acceptedAt, accepted } = record;
  const differs = accepted !== undefined && accepted.digest !== copy.version;
  const late = ports.clock.now() >= acceptedAt + settings.retentionMs - FOR_ITS_JOBS_MS;
  if (differs || late) return { body: copy.body, differs, late, matching: [], undecided: [] };
  const { message, body } = await acceptedCopy(ports.payloads, record, copy);
  return { body, differs, late, ...(await addresseesAsOf(ports.subscriptions, record, message, list)) };
}

/**
 * The body from the record where it keeps one. The data of the same version is the same, unless the message only refers to it:
 * then it may have changed since the message was accepted.
 */
async function acceptedCopy(
  payloads: Payloads,
  { body, accepted }: MessageRecord,
  copy: Copy,
): Promise<Pick<Copy, 'message' | 'body'>> {
  if (body !== undefined) {
    const kept = copy.isFetched ? await messageIn(payloads, body) : undefined;
    return { body, message: kept ?? copy.message };
  }
  // Stored, and not on record: it was erased, and deliver has to find that out.
  if (accepted === undefined || copy.body.kind === 'stored') return copy;
  const message = asAccepted(copy.message, accepted);
  return { message, body: { kind: 'inline', message } };
}

/**
 * The record says as of when the message goes to whom. The list is read afresh, because a repeat may meet another
 * function's cache; of a queue that was deleted meanwhile there is only what was read just now.
 */
async function addresseesAsOf(
  subscriptions: Subscriptions,
  record: MessageRecord,
  message: Message,
  read: SubscriptionList,
): Promise<Addressees> {
  const list = (await subscriptions.list(record.key.queue, 'fresh')) ?? read;
  return addresseesOf(list.subscriptions, contentOf(message), record);
}
