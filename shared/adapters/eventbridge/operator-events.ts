import {
  EventBridgeClient,
  type EventBridgeClientConfig,
  PutEventsCommand,
} from '@aws-sdk/client-eventbridge';
import type { OperatorEvents } from '../../ports/journal.ts';
import { operatorEventMessage } from '../../wire/events/operator-event.ts';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

/** The bus accepted the request but not the event. Usually transient: the bus is throttled or failing. */
export class EventRefusedError extends Error {
  override readonly name = 'EventRefusedError';
  readonly isTransient = true;

  constructor(type: string, code = 'no reason given') {
    super(`The event bus did not accept ${type}: ${code}.`);
  }
}

export type EventBusSettings = { busName: string; deployment: string };

/** The deployment's event bus. The operators' rules on it decide who gets an event. */
export function eventBridgeOperatorEvents(
  eventBridge: EventBridgeClient,
  { busName, deployment }: EventBusSettings,
): OperatorEvents {
  return {
    publish: async (event) => {
      const { source, detail, 'detail-type': type } = operatorEventMessage(event, deployment);
      const { FailedEntryCount = 0, Entries } = await eventBridge.send(
        new PutEventsCommand({
          Entries: [
            { EventBusName: busName, Source: source, DetailType: type, Detail: JSON.stringify(detail) },
          ],
        }),
      );
      if (FailedEntryCount > 0) throw new EventRefusedError(type, Entries?.[0]?.ErrorCode);
    },
  };
}

export function eventBridgeClient(options: ClientOptions<EventBridgeClientConfig> = {}): EventBridgeClient {
  return new EventBridgeClient(clientOptions('events', options));
}
