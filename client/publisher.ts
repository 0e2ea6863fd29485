import { setTimeout as wait } from 'node:timers/promises';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type BatchTarget, sendEach, type Unsent } from '../shared/adapters/sqs/batches.ts';
import { PublishError } from './errors.ts';
import { type EncodedMessage, encodeMessage, type NewMessage } from './message.ts';

export type PublisherOptions = {
  /** The ingress queue: the output `IngressQueueUrl`. */
  queueUrl: string;
  /** @default a client with the region and credentials of the environment */
  client?: SQSClient | undefined;
};

/** `signal`: ends the call with the signal's reason. Messages that SQS has stored by then stay published. */
export type PublishOptions = { signal?: AbortSignal | undefined };

/** `id`: of the message in records, in the API and in `webhook-id`. */
export type PublishResult = { id: string };

/**
 * Publishes messages to the ingress queue of a deployment.
 *
 * @example
 * type Events = { 'order.created': { total: number } };
 * const publisher = new Publisher<Events>({ queueUrl });
 * await publisher.publish({ queue: 'orders', type: 'order.created', data: { total: 1250 } });
 */
export class Publisher<Events extends object = Record<string, unknown>> {
  readonly #queueUrl: string;
  readonly #client: SQSClient;

  constructor({ queueUrl, client = new SQSClient() }: PublisherOptions) {
    if (!/^https?:\/\/./.test(queueUrl)) throw new TypeError('queueUrl must be the URL of the ingress queue');
    this.#queueUrl = queueUrl;
    this.#client = client;
  }

  /**
   * Resolves when SQS has stored the message.
   * @throws InvalidMessageError, MessageTooLargeError before anything is sent; PublishError; the signal's reason
   */
  async publish(message: NewMessage<Events>, options?: PublishOptions): Promise<PublishResult> {
    const encoded = encodeMessage(message, 0);
    await this.#send([encoded], options);
    return { id: encoded.id };
  }

  /**
   * Publishes any number of messages in requests of up to ten messages and 1 MiB. Repeats what SQS refused for a fault
   * of SQS. Resolves to the ids in the order of the call; deliveries have no order.
   * @throws InvalidMessageError, MessageTooLargeError before anything is sent; PublishError with each message that
   * was not sent; the signal's reason
   */
  async publishBatch(
    messages: readonly NewMessage<Events>[],
    options?: PublishOptions,
  ): Promise<PublishResult[]> {
    const encoded = Array.from(messages, (message, index) => encodeMessage(message, index));
    await this.#send(encoded, options);
    return encoded.map(({ id }) => ({ id }));
  }

  async #send(messages: readonly EncodedMessage[], { signal }: PublishOptions = {}): Promise<void> {
    const unsent: Unsent[] = [];
    await sendEach(this.#target(signal), messages, (_, failure) => {
      if (failure !== undefined) unsent.push(failure);
    });
    if (unsent.length === 0) return;
    signal?.throwIfAborted();
    throw publishError(messages, unsent);
  }

  #target(signal: AbortSignal | undefined): BatchTarget {
    return {
      queueUrl: this.#queueUrl,
      sqs: {
        sendMessageBatch: (batch) =>
          this.#client.send(new SendMessageBatchCommand(batch), signal && { abortSignal: signal }),
      },
      // After an abort the next request fails at once.
      sleep: (milliseconds) => wait(milliseconds, undefined, signal && { signal }).catch(() => undefined),
      random: Math.random,
    };
  }
}

function publishError(messages: readonly EncodedMessage[], unsent: readonly Unsent[]): PublishError {
  const failed = unsent
    .toSorted((one, other) => one.index - other.index)
    .map(({ index, code }) => ({ index, id: messages[index]?.id ?? '', reason: code }));
  const cause = unsent.find((one) => one.cause !== undefined)?.cause;
  return new PublishError(failed, messages.length - failed.length, { cause });
}
