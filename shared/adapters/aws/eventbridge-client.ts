import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { bounded, type ClientOptions } from './sdk-client.ts';

export const eventBridgeClient = ({
  deadline,
  journal,
  ...config
}: ClientOptions<EventBridgeClientConfig> = {}): EventBridgeClient =>
  new EventBridgeClient({ ...bounded('events', { deadline, journal }), ...config });
