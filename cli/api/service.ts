import * as z from 'zod';
import type { RedrivenQueue } from '../../shared/domain/vocabulary.ts';
import type { ApiClient } from './api-request.ts';

const healthSchema = z.object({
  status: z.enum(['ok', 'failing']),
  checks: z.record(z.string(), z.enum(['ok', 'failing'])),
  /** Approximate number of messages per queue; absent if they could not be counted. */
  queues: z.record(z.string(), z.number()).exactOptional(),
  /** Further messages per queue, which are not visible yet. */
  delayed: z.record(z.string(), z.number()).exactOptional(),
  /** Overdue retries, at most 1000; absent if they could not be counted. */
  overdue: z.number().exactOptional(),
  /** How long messages stay on record; absent from earlier deployments. */
  retentionDays: z.number().exactOptional(),
});

export type Health = z.infer<typeof healthSchema>;

/** The dead-letter queues by their names in the health report. */
export const HEALTH_NAMES: Record<RedrivenQueue, string> = {
  ingress: 'ingressDeadLetters',
  delivery: 'deliveryDeadLetters',
  operation: 'operationDeadLetters',
  undeliverable: 'undeliverable',
};

/** Reads the health report; status 503 is a report as well, of a failing deployment. */
export function readHealth(api: ApiClient, signal?: AbortSignal): Promise<Health> {
  return api.call({ method: 'GET', path: '/v2/health', accept: 503, signal }, healthSchema);
}

/** Needs no authorisation. */
export async function ping(api: ApiClient): Promise<void> {
  await api.send({ method: 'GET', path: '/v2/ping' });
}
