import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MEMORY_MEGABYTES } from '../../shared/config/rules.ts';
import { bundle } from '../../test/support/bundle.ts';

/** The memory of dispatch in a deployment. */
export const MEGABYTES = MEMORY_MEGABYTES.dispatch;

/** The bundle of dispatch, as a deployment makes it. It is removed with the stack. */
export async function bundledDispatch(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const file = join(folder, 'dispatch.mjs');
  await bundle(new URL('../../functions/dispatch/handler.ts', import.meta.url), file);
  return file;
}

/** The body of an ingress message with 1,000 bytes of data. */
export function ingressBody(queue: string, id: string): string {
  return JSON.stringify({ queue, id, type: 'order.created', data: { note: 'x'.repeat(1_000) } });
}
