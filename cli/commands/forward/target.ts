import { Readable } from 'node:stream';
import { boundedBody } from '../../bounded-body.ts';
import { failureText, fetchFailure } from '../../failure-report.ts';

/** A status, or why there is none. */
export type TargetResult = { durationMs: number } & ({ status: number } | { error: string });

/** Bytes of an answer that are read, so that the connection can be used again. */
const MAX_READ = 64 * 1024;

/** Makes a webhook request, byte for byte. Redirects are not followed. `timeoutSeconds`: for the whole exchange. */
export async function postToTarget(
  url: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  timeoutSeconds: number,
): Promise<TargetResult> {
  const startedAt = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: Buffer.from(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const { status } = response;
    // The status decides, also if the body breaks off.
    await readBody(response).catch(() => undefined);
    return { status, durationMs: durationMs() };
  } catch (cause) {
    return { error: reasonOf(cause, timeoutSeconds), durationMs: durationMs() };
  }
}

async function readBody({ body }: Response): Promise<void> {
  if (body === null) return;
  await boundedBody(Readable.fromWeb(body), MAX_READ);
}

function reasonOf(cause: unknown, timeoutSeconds: number): string {
  if (cause instanceof DOMException && cause.name === 'TimeoutError')
    return `no answer within ${timeoutSeconds} s`;
  return failureText(fetchFailure(cause));
}
