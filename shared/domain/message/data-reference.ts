/** An object in a bucket of the producer's that holds a message's data. */
export type DataReference = { bucket: string; key: string; versionId?: string };

/** Where such objects may lie: under keys that begin so, in a bucket of that account. */
export type PayloadSource = { bucket: string; prefix: string; owner: string };

/** As much as SQS takes of a message that brings its data along. */
export const MAX_REFERENCED_BYTES = 1024 * 1024;

/** The source that a reference leads into; undefined: none of these, so it must not be followed. */
export function sourceOf(
  { bucket, key }: DataReference,
  sources: readonly PayloadSource[],
): PayloadSource | undefined {
  return sources.find((source) => source.bucket === bucket && key.startsWith(source.prefix));
}
