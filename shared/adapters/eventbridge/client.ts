import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

export function eventBridgeClient({
  deadline,
  journal,
  ...config
}: ClientOptions<EventBridgeClientConfig> = {}): EventBridgeClient {
  return new EventBridgeClient({ ...clientOptions('events', { deadline, journal }), ...config });
}
