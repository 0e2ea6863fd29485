import { sourceOf, type DataReference, type PayloadSource } from '../domain/data-reference.ts';
import type { MessageHead } from '../domain/message.ts';
import type { MessageRecords } from '../ports/message-records.ts';
import type { Payloads } from '../ports/payloads.ts';
import type { ReadData, ReferencedData } from '../ports/referenced-data.ts';
import type { IngressReading } from './dispatch.ts';
import { keptMessage } from './message-keeping.ts';

export type ReferencedDataContext = {
  ports: { referencedData: ReferencedData; messageRecords: MessageRecords; payloads: Payloads };
  settings: { payloadSources: readonly PayloadSource[] };
};

/** What an ingress message says, where it may only say where its data lies. */
export type ReferringReading =
  IngressReading | { ok: true; message: MessageHead; dataRef: DataReference; delaySeconds?: number };

/**
 * What an ingress message says, its data fetched if it lies elsewhere. Such a message is kept from the start, so that the
 * object is not needed any more once the message is on record. Throws for faults that pass.
 */
export const withReferencedData = async (
  context: ReferencedDataContext,
  reading: ReferringReading,
): Promise<IngressReading> => {
  if (!reading.ok || !('dataRef' in reading)) return reading;
  const { message, dataRef, ...rest } = reading;
  const read = await dataOf(context, message, dataRef);
  return read.ok ? { ...rest, message: { ...message, data: read.data }, keepBody: true } : read;
};

const dataOf = async (
  { ports, settings }: ReferencedDataContext,
  { queue, id }: MessageHead,
  reference: DataReference,
): Promise<ReadData> => {
  const source = sourceOf(reference, settings.payloadSources);
  if (source === undefined) return { ok: false, reason: 'data_ref_forbidden' };
  const read = await ports.referencedData.read(reference, source.owner);
  if (read.ok) return read;
  // A repeat: its producer may have deleted the object since the message was put on record.
  const kept = await keptMessage(ports, { queue, messageId: id });
  return kept === undefined ? read : { ok: true, data: kept.data };
};
