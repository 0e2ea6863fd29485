export { InvalidMessageError, MessageTooLargeError, PublishError, type Unpublished } from './errors.ts';
export type { PublishedMessage } from './message.ts';
export { Publisher, type Published, type PublisherOptions, type PublishOptions } from './publisher.ts';
