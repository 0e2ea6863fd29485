import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { bounded, type ClientOptions } from './aws-clients.ts';

export const eventBridgeClient = ({
  deadline,
  journal,
  ...config
}: ClientOptions<EventBridgeClientConfig> = {}): EventBridgeClient =>
  new EventBridgeClient({ ...bounded('events', { deadline, journal }), ...config });
