import {
  type DataReference,
  findSource,
  type PayloadSource,
} from '../../shared/domain/message/data-reference.ts';
import type { MessageHead } from '../../shared/domain/message/message.ts';
import type { Payloads, ReadDataResult, ReferencedData } from '../../shared/ports/bodies.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import { readMessage } from '../../shared/steps/keep-message.ts';
import {
  type IngressRoutes,
  parseIngress,
  type ParsedIngress,
  type ReceivedMessage,
} from '../../shared/wire/ingress/message.ts';
import { stringAttributes } from '../../shared/wire/jobs/dead-letter.ts';
import { dispatch, type IngressResult } from './dispatch.ts';
import type { DispatchContext } from './pages.ts';
import type { SQSRecord } from 'aws-lambda';

export type IngressContext = DispatchContext &
  ReferencedDataContext & { settings: { ingressRoutes: IngressRoutes; tracing: boolean } };

/**
 * Handles one SQS record.
 * @throws if a fault is transient: SQS redelivers the record
 */
export async function dispatchRecord(context: IngressContext, record: SQSRecord): Promise<void> {
  const received = receivedMessage(record);
  const { ingressRoutes, tracing } = context.settings;
  const parsed = parseIngress(received, ingressRoutes);
  if (parsed.ok && !tracing) delete parsed.message.trace;
  await dispatch(context, await withReferencedData(context, parsed), received);
}

/** The ids of the record's message for the log. Empty if the record cannot be parsed. */
export function messageIdsIn(record: SQSRecord, routes: IngressRoutes): Record<string, string> {
  const parsed = parseIngress(receivedMessage(record), routes);
  return parsed.ok ? { queue: parsed.message.queue, messageId: parsed.message.id } : {};
}

function receivedMessage(record: SQSRecord): ReceivedMessage {
  return {
    body: record.body,
    sqsMessageId: record.messageId,
    sentAt: Number(record.attributes.SentTimestamp),
    attributes: stringAttributes(record.messageAttributes),
  };
}

export type ReferencedDataContext = {
  ports: { referencedData: ReferencedData; messageRecords: MessageRecords; payloads: Payloads };
  settings: { payloadSources: readonly PayloadSource[] };
};

/**
 * The parsed ingress message with referenced data fetched. Its record stores the data from the start, so the
 * referenced object is not needed later.
 * @throws if a fault is transient
 */
export async function withReferencedData(
  context: ReferencedDataContext,
  parsed: ParsedIngress,
): Promise<IngressResult> {
  if (!parsed.ok || !('dataRef' in parsed)) return parsed;
  const { message, dataRef, ...rest } = parsed;
  const read = await fetchData(context, { ...message, version: rest.version }, dataRef);
  return read.ok ? { ...rest, message: { ...message, data: read.data }, isFromReference: true } : read;
}

async function fetchData(
  { ports, settings }: ReferencedDataContext,
  { queue, id, version }: Pick<MessageHead, 'queue' | 'id'> & { version: string },
  reference: DataReference,
): Promise<ReadDataResult> {
  const source = findSource(reference, settings.payloadSources);
  if (source === undefined) return { ok: false, reason: 'data_ref_forbidden' };
  const read = await ports.referencedData.read(reference, source.owner);
  if (read.ok) return read;
  // On a redelivery the producer may have deleted the object already: use the stored copy of the same version.
  const { body, accepted } = (await ports.messageRecords.find({ queue, messageId: id })) ?? {};
  const isDifferentVersion = accepted !== undefined && accepted.digest !== version;
  const kept = body === undefined || isDifferentVersion ? undefined : await readMessage(ports.payloads, body);
  return kept === undefined ? read : { ok: true, data: kept.data };
}
