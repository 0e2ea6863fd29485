/** The closed lists of words about messages (retry/vocabulary.ts says how they are used). */

/**
 * Why the data that a message refers to can never be read. `denied`: S3 refuses access; without s3:ListBucket it
 * gives the same answer for a missing object.
 */
export type DataReferenceFault =
  | 'data_ref_forbidden'
  | 'data_ref_missing'
  | 'data_ref_denied'
  | 'data_ref_too_large'
  | 'data_ref_not_json';

/** Why the body of an SQS message cannot be parsed. Fields are dotted paths. */
export type UnreadableReason =
  | 'not_json'
  | 'unknown_version'
  | 'unknown_kind'
  | 'message_missing'
  | 'data_missing'
  | 'queue_missing'
  | 'queue_not_allowed'
  | `invalid_field:${string}`;

/**
 * Why a function of this deployment dead-lettered a message. `event_invalid`: with the JSON Pointer of the fault.
 * `failed_repeatedly`: poison (receives.ts).
 */
export type DeadLetterReason =
  | UnreadableReason
  | DataReferenceFault
  | 'unknown_queue'
  | 'unknown_event_type'
  | `event_invalid:${string}`
  | 'body_missing'
  | 'failed_repeatedly';
