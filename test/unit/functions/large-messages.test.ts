import { execFile } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { encodeMessage } from '../../../shared/wire/jobs/message-body.ts';
import { aMessage } from '../../support/builders.ts';
import { closeServer, listen } from '../../support/listening.ts';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../../support/large-messages-process.ts', import.meta.url));

/** The limit in this test, in megabytes. The function has 512. */
const MAX_MEGABYTES = 350;

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  closing.push(() => closeServer(server));
  return `http://127.0.0.1:${await listen(server, '127.0.0.1')}`;
};

const MEBIBYTE = 1024 * 1024;

const ROW = '{"sku":"A-1","n":2,"price":1995},';

const kinds = {
  text: JSON.stringify('x'.repeat(MEBIBYTE - 2)),
  'text with two bytes per character in memory': JSON.stringify('\u{1f4e6}' + 'x'.repeat(MEBIBYTE - 10)),
  rows: `[${ROW.repeat(Math.floor(MEBIBYTE / ROW.length))}{}]`,
};

const result = z.object({
  peakMegabytes: z.number(),
  failed: z.number(),
  sentAgain: z.number(),
  faults: z.array(z.string()),
});

/** The peak memory of a batch, and the totals that the receiver got. */
const measure = async (data: string, { jobs, members }: { jobs: number; members: number }) => {
  const payload = Buffer.from(encodeMessage(aMessage({ data })));
  const received = { requests: 0, bytes: 0 };
  const s3 = await serve((_request, response) => response.end(payload));
  const receiver = await serve((request, response) => {
    request.on('data', (piece: Buffer) => {
      received.bytes += piece.length;
    });
    request.on('end', () => {
      received.requests += 1;
      setTimeout(() => response.end('ok'), 300);
    });
  });
  const args = [`--max-old-space-size=${MAX_MEGABYTES}`, PROGRAM, s3, receiver, `${jobs}`, `${members}`];
  const { stdout } = await run(process.execPath, args);
  return { ...result.parse(JSON.parse(stdout)), received };
};

describe('batches of 1 MiB messages need less than 350 MB and are delivered at once', () => {
  it.each([
    { kind: 'text with two bytes per character in memory', jobs: 10, members: 10 },
    { kind: 'rows', jobs: 10, members: 2 },
    { kind: 'text', jobs: 60, members: 1 },
  ] as const)('$jobs messages of $kind to $members subscribers', async ({ kind, jobs, members }) => {
    const data = kinds[kind];
    const { peakMegabytes, received, ...others } = await measure(data, { jobs, members });
    expect(others).toEqual({ failed: 0, sentAgain: 0, faults: [] });
    expect(received.requests).toBe(jobs * members);
    expect(received.bytes).toBeGreaterThan(jobs * members * Buffer.byteLength(data));
    expect(peakMegabytes).toBeLessThan(MAX_MEGABYTES);
  });
});
