import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { bounded, type ClientOptions } from './sdk-client.ts';

export function eventBridgeClient({
  deadline,
  journal,
  ...config
}: ClientOptions<EventBridgeClientConfig> = {}): EventBridgeClient {
  return new EventBridgeClient({ ...bounded('events', { deadline, journal }), ...config });
}
