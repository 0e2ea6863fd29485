import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { notFound } from '../errors.ts';
import { flag } from '../fields.ts';
import { queueName } from '../paths.ts';

/** What a listing of records may be asked: those of a queue that was deleted are there until they expire. */
export const deletedField = { deleted: flag };

/**
 * The queue of a path whose records are listed. A name that no queue has is a mistake, not an empty list, unless the request
 * says that the queue was deleted.
 * @throws RefusedRequest `not_found`
 */
export async function existingQueue(
  { registry }: { registry: Pick<Registry, 'findQueue'> },
  name: string,
  { deleted }: { deleted: boolean },
): Promise<string> {
  const queue = queueName(name);
  if (!deleted && (await registry.findQueue(queue)) === undefined) throw notFound('such queue');
  return queue;
}
