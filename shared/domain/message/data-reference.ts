/** An S3 object of a producer that holds the data of a message. */
export type DataReference = { bucket: string; key: string; versionId?: string };

/** S3 limit for keys in UTF-8 bytes and version ids in characters ("Object key names", S3 user guide). */
export const MAX_S3_NAME_BYTES = 1024;

/** Allowed location of such objects: a key prefix in a bucket that belongs to the account `owner`. */
export type PayloadSource = { bucket: string; prefix: string; owner: string };

/** The SQS size limit, which messages with inline data have as well. */
export const MAX_REFERENCED_BYTES = 1024 * 1024;

/** The allowed source of a reference; undefined: none matches, so the object must not be read. */
export function findSource(
  { bucket, key }: DataReference,
  sources: readonly PayloadSource[],
): PayloadSource | undefined {
  return sources.find((source) => source.bucket === bucket && key.startsWith(source.prefix));
}
