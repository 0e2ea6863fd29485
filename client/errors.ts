/** A message has a wrong field. None of the call's messages was sent. */
export class InvalidMessageError extends Error {
  override readonly name = 'InvalidMessageError';
  /** Position in the call, from 0. */
  readonly index: number;
  readonly field: string;
  /** What the field must be. */
  readonly rule: string;

  constructor(
    { index, field, rule }: { index: number; field: string; rule: string },
    options?: ErrorOptions,
  ) {
    super(`Message ${index}: ${field} must be ${rule}`, options);
    this.index = index;
    this.field = field;
    this.rule = rule;
  }
}

/** A message is larger than SQS takes. None of the call's messages was sent. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
  /** Position in the call, from 0. */
  readonly index: number;
  readonly id: string;
  /** Of the message with its envelope, in UTF-8. */
  readonly bytes: number;

  constructor({ index, id, bytes, most }: { index: number; id: string; bytes: number; most: number }) {
    super(
      `Message ${index} (${id}) has ${bytes} bytes, and SQS takes ${most}. Put its data into a bucket and publish a dataRef.`,
    );
    this.index = index;
    this.id = id;
    this.bytes = bytes;
  }
}

/** A message that SQS did not confirm. `reason`: the error code of SQS, or the name of the error. */
export type UnsentMessage = { index: number; id: string; reason: string };

/** SQS did not confirm some messages. Publishing them again under the same ids is safe. */
export class PublishError extends Error {
  override readonly name = 'PublishError';
  /** In the order of the call. */
  readonly failed: readonly UnsentMessage[];
  /** How many messages of the call SQS stored. */
  readonly published: number;

  constructor(failed: readonly UnsentMessage[], published: number, options?: ErrorOptions) {
    const reasons = [...new Set(failed.map(({ reason }) => reason))].join(', ');
    const were = failed.length === 1 ? 'was' : 'were';
    super(`${failed.length} of ${failed.length + published} messages ${were} not sent: ${reasons}`, options);
    this.failed = failed;
    this.published = published;
  }
}
