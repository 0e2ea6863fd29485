import type { Readable } from 'node:stream';

/** All that a stream holds. Undefined: that is more than `mostBytes`, and the rest was not read. */
export async function boundedBody(
  stream: Readable,
  mostBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > mostBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
