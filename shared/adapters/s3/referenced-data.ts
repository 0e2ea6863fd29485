import { GetObjectCommand, S3ServiceException, type S3Client } from '@aws-sdk/client-s3';
import type { DataReferenceFault } from '../../domain/message/vocabulary.ts';
import { MAX_REFERENCED_BYTES } from '../../domain/message/data-reference.ts';
import { parseJson, wholeSource } from '../../wire/json-slice.ts';
import type { ReadDataResult, ReferencedData } from '../../ports/bodies.ts';

/** S3 errors that no retry changes ("Error responses", S3 API reference). All others may be transient. */
const PERMANENT_ERRORS = new Map<string, DataReferenceFault>([
  ['NoSuchBucket', 'data_ref_missing'],
  ['NoSuchKey', 'data_ref_missing'],
  ['NoSuchVersion', 'data_ref_missing'],
  // The version is a delete marker.
  ['MethodNotAllowed', 'data_ref_missing'],
  ['AccessDenied', 'data_ref_denied'],
  ['AllAccessDisabled', 'data_ref_denied'],
  // In an archive, in another region, or not a valid version id.
  ['InvalidObjectState', 'data_ref_denied'],
  ['PermanentRedirect', 'data_ref_denied'],
  ['InvalidArgument', 'data_ref_denied'],
  // No range can be read because the object is empty.
  ['InvalidRange', 'data_ref_not_json'],
]);

/** Objects of producers in S3. */
export function s3ReferencedData(s3: S3Client): ReferencedData {
  return {
    read: async ({ bucket, key, versionId }, owner) => {
      const request = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ...(versionId === undefined ? {} : { VersionId: versionId }),
        // Bucket names can be taken by another account once the bucket is deleted.
        ExpectedBucketOwner: owner,
        // One byte more than the limit shows that the object is too large; no more is ever loaded.
        Range: `bytes=0-${MAX_REFERENCED_BYTES}`,
      });
      try {
        const { Body } = await s3.send(request);
        return toReadResult((await Body?.transformToByteArray()) ?? new Uint8Array());
      } catch (error) {
        const reason = error instanceof S3ServiceException ? PERMANENT_ERRORS.get(error.name) : undefined;
        if (reason === undefined) throw error;
        return { ok: false, reason };
      }
    },
  };
}

function toReadResult(bytes: Uint8Array): ReadDataResult {
  if (bytes.length > MAX_REFERENCED_BYTES) return { ok: false, reason: 'data_ref_too_large' };
  const text = decodeText(bytes);
  const json = text === undefined ? undefined : parseJson(text);
  return json === undefined
    ? { ok: false, reason: 'data_ref_not_json' }
    : { ok: true, data: wholeSource(json) };
}

/** Strict UTF-8 without a byte order mark (RFC 8259 §8.1); undefined for anything else. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
