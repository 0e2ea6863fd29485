import * as z from 'zod';
import { isNotFound } from './api-refusal.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, listing } from './listing.ts';

const metadataSchema = z.record(z.string(), z.unknown());
const queueSchema = z.object({ name: z.string(), metadata: metadataSchema });

export type ListedQueue = z.infer<typeof queueSchema>;

const pageSchema = z
  .object({ queues: z.array(queueSchema), links: linksSchema })
  .transform(({ queues, links }) => ({ items: queues, links }));

export function listQueues(api: ApiClient, most?: number): AsyncGenerator<ListedQueue, boolean> {
  return listing(api, {
    path: '/v2/queues',
    query: { detailed: 'true' },
    schema: pageSchema,
    most,
  });
}

const namesPage = z
  .object({ queues: z.array(z.object({ name: z.string() })), links: linksSchema })
  .transform(({ queues, links }) => ({ items: queues.map(({ name }) => name), links }));

/** Names of queues, without their metadata. */
export function queueNames(api: ApiClient, most: number): AsyncGenerator<string, boolean> {
  return listing(api, { path: '/v2/queues', schema: namesPage, most });
}

/** How many queues there are. */
export async function countQueues(api: ApiClient): Promise<number | undefined> {
  const request = { method: 'GET', path: '/v2/queues', query: { limit: 1, with_count: 'true' } } as const;
  return (await api.call(request, z.object({ count: z.int().exactOptional() }))).count;
}

type Metadata = z.infer<typeof metadataSchema>;

/** The queue's metadata. */
export function showQueue(api: ApiClient, queue: string, signal?: AbortSignal): Promise<Metadata> {
  return api.call({ method: 'GET', path: apiPath`/v2/queues/${queue}`, signal }, metadataSchema);
}

/** The same; undefined if there is no such queue. */
export async function findQueue(api: ApiClient, queue: string): Promise<Metadata | undefined> {
  try {
    return await showQueue(api, queue);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** `metadata` is JSON source text. */
export async function putQueue(api: ApiClient, queue: string, metadata: string): Promise<void> {
  await api.send({ method: 'PUT', path: apiPath`/v2/queues/${queue}`, body: metadata });
}

/** Returns the metadata after the change. `patch` is an RFC 6902 document. */
export function patchQueue(api: ApiClient, queue: string, patch: string): Promise<Metadata> {
  return api.call(
    {
      method: 'PATCH',
      path: apiPath`/v2/queues/${queue}`,
      body: patch,
      contentType: 'application/json-patch+json',
    },
    metadataSchema,
  );
}

/** The path of a metadata key in a patch (RFC 6901 §3). */
export function metadataPointer(key: string): string {
  return `/metadata/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export async function deleteQueue(api: ApiClient, queue: string): Promise<void> {
  await api.send({ method: 'DELETE', path: apiPath`/v2/queues/${queue}` });
}
