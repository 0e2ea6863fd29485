import type { OperatorEvents } from '../../ports/journal.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import { once } from '../lambda/on-demand.ts';
import type { EventBusSettings } from './operator-events.ts';

export function lazyOperatorEvents(aws: Invocation & AwsAccess, settings: EventBusSettings): OperatorEvents {
  const operatorEvents = once(async () => {
    const { eventBridgeClient, eventBridgeOperatorEvents } = await import('./operator-events.ts');
    return eventBridgeOperatorEvents(eventBridgeClient(aws), settings);
  });
  return { publish: async (event) => (await operatorEvents()).publish(event) };
}
