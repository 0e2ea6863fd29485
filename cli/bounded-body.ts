import type { Readable } from 'node:stream';

/** The whole content of a stream; undefined if it exceeds `mostBytes` (the rest is then not read). */
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
