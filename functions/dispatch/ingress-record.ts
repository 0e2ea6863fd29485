import {
  type DataReference,
  type PayloadSource,
  sourceOf,
} from '../../shared/domain/message/data-reference.ts';
import type { MessageHead } from '../../shared/domain/message/message.ts';
import type { Payloads, ReadDataResult, ReferencedData } from '../../shared/ports/bodies.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import { messageIn } from '../../shared/steps/keep-message.ts';
import {
  type IngressRoutes,
  parseIngress,
  type ParsedIngress,
  type ReceivedMessage,
} from '../../shared/wire/ingress/message.ts';
import { dispatch, type DispatchContext, type IngressReading } from './dispatch.ts';
import type { SQSMessageAttributes, SQSRecord } from 'aws-lambda';

export type IngressContext = DispatchContext &
  ReferencedDataContext & { settings: { ingressRoutes: IngressRoutes } };

/** What dispatch does for every SQS record. A throw means a transient fault, and the message comes again. */
export async function dispatchRecord(context: IngressContext, record: SQSRecord): Promise<void> {
  const received = receivedAs(record);
  const reading = parseIngress(received, context.settings.ingressRoutes);
  await dispatch(context, await withReferencedData(context, reading), received);
}

/** The ids of the message in a record, as far as it can be read. */
export function messageIdsIn(record: SQSRecord, routes: IngressRoutes): Record<string, string> {
  const parsed = parseIngress(receivedAs(record), routes);
  return parsed.ok ? { queue: parsed.message.queue, messageId: parsed.message.id } : {};
}

function receivedAs(record: SQSRecord): ReceivedMessage {
  return {
    body: record.body,
    sqsMessageId: record.messageId,
    sentAt: Number(record.attributes.SentTimestamp),
    attributes: textsOf(record.messageAttributes),
  };
}

function textsOf(attributes: SQSMessageAttributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stringValue }]) =>
      stringValue === undefined ? [] : [[name, stringValue]],
    ),
  );
}

export type ReferencedDataContext = {
  ports: { referencedData: ReferencedData; messageRecords: MessageRecords; payloads: Payloads };
  settings: { payloadSources: readonly PayloadSource[] };
};

/**
 * What an ingress message says, its data fetched if it lies elsewhere. Such a message is kept from the start, so that the
 * object is not needed any more once the message is on record. Throws for faults that pass.
 */
export async function withReferencedData(
  context: ReferencedDataContext,
  reading: ParsedIngress,
): Promise<IngressReading> {
  if (!reading.ok || !('dataRef' in reading)) return reading;
  const { message, dataRef, ...rest } = reading;
  const read = await dataOf(context, { ...message, version: rest.version }, dataRef);
  return read.ok ? { ...rest, message: { ...message, data: read.data }, isFetched: true } : read;
}

async function dataOf(
  { ports, settings }: ReferencedDataContext,
  { queue, id, version }: Pick<MessageHead, 'queue' | 'id'> & { version: string },
  reference: DataReference,
): Promise<ReadDataResult> {
  const source = sourceOf(reference, settings.payloadSources);
  if (source === undefined) return { ok: false, reason: 'data_ref_forbidden' };
  const read = await ports.referencedData.read(reference, source.owner);
  if (read.ok) return read;
  // A repeat: its producer may have deleted the object since the message was put on record.
  const { body, accepted } = (await ports.messageRecords.find({ queue, messageId: id })) ?? {};
  const isOther = accepted !== undefined && accepted.digest !== version;
  const kept = body === undefined || isOther ? undefined : await messageIn(ports.payloads, body);
  return kept === undefined ? read : { ok: true, data: kept.data };
}
