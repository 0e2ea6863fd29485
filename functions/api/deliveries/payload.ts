import { withoutLink } from '../../../shared/domain/message/confirmation-request.ts';
import type { Message, MessageKey } from '../../../shared/domain/message/message.ts';
import type { Payload, RenderFault } from '../../../shared/domain/message/payload.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import type { ApiPorts } from '../dependencies.ts';

type PayloadContext = Pick<ApiPorts, 'messageRecords' | 'payloads' | 'registry' | 'render'>;

/**
 * What the subscription as it is now gets of a message. `not_kept`: the message is not stored, or was erased. Undefined:
 * there is no such message or subscription.
 */
export async function payloadFor(
  { messageRecords, payloads, registry, render }: PayloadContext,
  message: MessageKey,
  subscriptionId: string,
): Promise<Payload | RenderFault | 'not_kept' | undefined> {
  const [record, subscription] = await Promise.all([
    messageRecords.find(message),
    registry.findSubscription(message.queue, subscriptionId),
  ]);
  if (record === undefined || subscription === undefined) return undefined;
  const kept = await keptMessage(payloads, record);
  return kept === undefined ? 'not_kept' : render(withoutSecrets(kept), subscription);
}

async function keptMessage(
  payloads: PayloadContext['payloads'],
  { body }: MessageRecord,
): Promise<Message | undefined> {
  return body?.kind === 'stored' ? payloads.get(body.payloadKey) : body?.message;
}

/** The link of a confirmation request allows its holder to confirm. */
function withoutSecrets(message: Message): Message {
  return isConfirmationId(message.id) ? { ...message, data: withoutLink(message.data) } : message;
}
