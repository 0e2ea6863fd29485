/** An object in a bucket of the producer's that holds a message's data. */
export type DataReference = { bucket: string; key: string; versionId?: string };

/** Where such objects may lie: under keys that begin so, in a bucket of that account. */
export type PayloadSource = { bucket: string; prefix: string; owner: string };

/** As much as SQS takes of a message that brings its data along. */
export const MAX_REFERENCED_BYTES = 1024 * 1024;

/**
 * Why an object's data cannot be had, for good. `denied`: S3 refuses it, which without s3:ListBucket it does also where
 * there is no such object.
 */
export type ReferenceFault =
  'data_ref_forbidden' | 'data_ref_missing' | 'data_ref_denied' | 'data_ref_too_large' | 'data_ref_not_json';

/** The source that a reference leads into; undefined: none of these, so it must not be followed. */
export function sourceOf(
  { bucket, key }: DataReference,
  sources: readonly PayloadSource[],
): PayloadSource | undefined {
  return sources.find((source) => source.bucket === bucket && key.startsWith(source.prefix));
}
