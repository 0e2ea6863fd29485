import * as z from 'zod';
import type { ApiClient } from './api-request.ts';

const healthSchema = z.object({
  status: z.enum(['ok', 'failing']),
  checks: z.record(z.string(), z.enum(['ok', 'failing'])),
  /** About how many messages each holds; absent where they could not be counted. */
  queues: z.record(z.string(), z.number()).exactOptional(),
  /** Up to 1000; absent where they could not be counted. */
  overdue: z.number().exactOptional(),
});

export type Health = z.infer<typeof healthSchema>;

/** Failing is an answer, too. */
export function readHealth(api: ApiClient, signal?: AbortSignal): Promise<Health> {
  return api.call(
    { method: 'GET', path: '/v2/health', accept: 503, ...(signal && { signal }) },
    healthSchema,
  );
}

/** Anybody may ask. */
export async function ping(api: ApiClient): Promise<void> {
  await api.send({ method: 'GET', path: '/v2/ping' });
}
