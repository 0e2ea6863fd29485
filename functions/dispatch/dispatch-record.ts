import type { SQSMessageAttributes, SQSRecord } from 'aws-lambda';
import { parseIngress, type ReceivedMessage } from '../../shared/messages/ingress-message.ts';
import { dispatch, type DispatchContext } from '../../shared/pipeline/dispatch.ts';
import { withReferencedData, type ReferencedDataContext } from '../../shared/pipeline/referenced-data.ts';

type Routes = Record<string, string>;

/** What dispatch does for every record. A throw means a transient fault, and the message comes again. */
export const dispatchRecord =
  (context: DispatchContext & ReferencedDataContext, routes: Routes) =>
  async (record: SQSRecord): Promise<void> => {
    const received = receivedAs(record);
    const { body, attributes, sentAt } = received;
    const original = { id: record.messageId, body, attributes, sentAt };
    await dispatch(context, await withReferencedData(context, parseIngress(received, routes)), original);
  };

/** The ids of the message in a record, as far as it can be read. */
export const messageIdsIn =
  (routes: Routes) =>
  (record: SQSRecord): Record<string, string> => {
    const parsed = parseIngress(receivedAs(record), routes);
    return parsed.ok ? { queue: parsed.message.queue, messageId: parsed.message.id } : {};
  };

const receivedAs = (record: SQSRecord): ReceivedMessage => ({
  body: record.body,
  sqsMessageId: record.messageId,
  sentAt: Number(record.attributes.SentTimestamp),
  attributes: textsOf(record.messageAttributes),
});

const textsOf = (attributes: SQSMessageAttributes): Record<string, string> =>
  Object.fromEntries(
    Object.entries(attributes).flatMap(([name, { stringValue }]) =>
      stringValue === undefined ? [] : [[name, stringValue]],
    ),
  );
