import type { ApiClient } from '../../api/api-request.ts';
import { ApiRefusal } from '../../api/api-refusal.ts';
import { readHealth } from '../../api/service.ts';
import { commandText } from '../../command-name.ts';
import { printable } from '../../output/printable.ts';

/**
 * Where a message without a record can be. `ingress`, `deadLetters`: messages there; absent if the caller may not read
 * them. `retentionDays`: how long messages stay on record.
 */
export type Absence = { queues: number; retentionDays?: number; ingress?: number; deadLetters?: number };

/** Reads how many messages SQS holds that have no record, and how long records are kept. */
export async function knownOfAbsent(api: ApiClient): Promise<Omit<Absence, 'queues'>> {
  try {
    const { queues: { ingress, ingressDeadLetters } = {}, retentionDays } = await readHealth(api);
    return {
      ...(retentionDays !== undefined && { retentionDays }),
      ...(ingress !== undefined && { ingress }),
      ...(ingressDeadLetters !== undefined && { deadLetters: ingressDeadLetters }),
    };
  } catch (error) {
    if (error instanceof ApiRefusal) return {};
    throw error;
  }
}

/** What it can mean that nothing was found. */
export function absenceText(what: string, { queues, retentionDays, ingress, deadLetters }: Absence): string {
  return [
    `Nothing was found for ${printable(what)} in ${queues} ${queues === 1 ? 'queue' : 'queues'}. A message of this id`,
    '- was never accepted: it was not sent, or with another id or to another queue,',
    `- or still waits in the ingress queue, which holds ${countText(ingress)},`,
    `- or is among the ingress dead letters, of which there are ${countText(deadLetters)}: ${commandText('deadletters list ingress')}`,
    `- or is older than the retention of ${retentionDays === undefined ? 'the deployment' : `${retentionDays} days`} (retentionDays).`,
  ].join('\n');
}

function countText(count: number | undefined): string {
  return count === undefined ? 'an unknown number' : `about ${count}`;
}
