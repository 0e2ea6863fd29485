export { InvalidMessageError, MessageTooLargeError, PublishError, type UnsentMessage } from './errors.ts';
export type { NewMessage } from './message.ts';
export { Publisher, type PublishResult, type PublisherOptions, type PublishOptions } from './publisher.ts';
