import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { notFound } from '../errors.ts';
import { flag } from '../fields.ts';
import { queueName } from '../paths.ts';

/** Query field of listings: whether to read a deleted queue, whose records stay until they expire. */
export const deletedField = {
  deleted: flag.describe('Whether to read the records of a deleted queue, until they expire.'),
};

/**
 * The queue of a path whose records are listed. `deleted`: accepts the name of a deleted queue too; otherwise an
 * unknown name is an error, not an empty list.
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
