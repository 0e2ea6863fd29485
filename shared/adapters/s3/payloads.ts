import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { toPayloadPrefix } from '../../domain/message/body.ts';
import { decodeMessage, encodeMessage } from '../../wire/jobs/message-body.ts';
import type { Payloads } from '../../ports/bodies.ts';
import { clientOptions, type ClientOptions } from '../aws/client-options.ts';

export function s3Client(options: ClientOptions<S3ClientConfig> = {}): S3Client {
  return new S3Client(clientOptions('s3', options));
}

/**
 * The payload bucket. Needs s3:ListBucket besides s3:GetObject: without it S3 answers 403 for a missing key
 * (GetObject, S3 API reference), which counts as an error here.
 * @throws UnreadableMessageError from `get` for an object in another format
 */
export function s3Payloads(s3: S3Client, bucket: string): Payloads {
  return {
    put: async (payloadKey, message) => {
      await s3.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: payloadKey,
          Body: encodeMessage(message),
          ContentType: 'application/json',
        }),
      );
    },
    get: async (payloadKey) => {
      try {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: payloadKey }));
        return decodeMessage((await Body?.transformToString()) ?? '');
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    remove: (payloadKey) => removeObject(s3, bucket, payloadKey),
    removeAll: async (message) => {
      const Prefix = toPayloadPrefix(message);
      for await (const { Contents = [] } of paginateListObjectsV2(
        { client: s3 },
        { Bucket: bucket, Prefix },
      )) {
        // Usually one object. There are two only if two different messages had the same id.
        for (const { Key } of Contents) if (Key !== undefined) await removeObject(s3, bucket, Key);
      }
    },
  };
}

/** S3 returns the same response whether the object existed or not. */
async function removeObject(s3: S3Client, bucket: string, payloadKey: string): Promise<void> {
  await s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: payloadKey }));
}
