import type { ApiClient } from '../../../api-client/api-client.ts';
import { readHealth } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { printable } from '../../output/printable.ts';

/**
 * Where a message without a record can be. `queues`: how many were looked in, of which `notSearched` refused; `moreQueues`:
 * there are others. `ingress`, `delayed` (there until a later time), `deadLetters`: messages there; absent if the caller
 * may not read them. `retentionDays`: how long messages stay on record.
 */
export type Absence = {
  queues: number;
  moreQueues?: true;
  notSearched?: number;
  retentionDays?: number | undefined;
  ingress?: number | undefined;
  delayed?: number | undefined;
  deadLetters?: number | undefined;
};

type Known = Omit<Absence, 'queues' | 'moreQueues' | 'notSearched'>;

/** Reads how many messages SQS holds that have no record, and how long records are kept. */
export async function knownOfAbsent(api: ApiClient): Promise<Known> {
  try {
    const { queues = {}, delayed = {}, retentionDays } = await api.call(readHealth, {});
    const { ingress, ingressDeadLetters: deadLetters } = queues;
    return { retentionDays, ingress, delayed: delayed['ingress'], deadLetters };
  } catch (error) {
    if (error instanceof ApiRefusal) return {};
    throw error;
  }
}

/** What it can mean that nothing was found. */
export function absenceText(
  what: string,
  { queues, moreQueues, notSearched = 0, retentionDays, ingress, delayed = 0, deadLetters }: Absence,
): string {
  const searched = queuesText({ queues, moreQueues });
  const refused = notSearched === 0 ? '' : `, of which ${notSearched} could not be searched`;
  const later = delayed === 0 ? '' : ` and ${delayed} until a later time`;
  return [
    `Nothing was found for ${printable(what)} in ${searched}${refused}. A message of this id`,
    '- was never accepted: it was not sent, or with another id or to another queue,',
    ...(moreQueues === true || notSearched > 0 ? ['- or is in a queue that was not searched,'] : []),
    `- or still waits in the ingress queue, which holds ${countText(ingress)}${later},`,
    `- or is among the ingress dead letters, of which there are ${countText(deadLetters)}: ${commandText('deadletters list ingress')}`,
    `- or is older than the retention of ${retentionDays === undefined ? 'the deployment' : `${retentionDays} days`} (retentionDays), or of its queue (_retention_days).`,
  ].join('\n');
}

/** Which queues were searched. */
export function queuesText({
  queues,
  moreQueues,
}: {
  queues: number;
  moreQueues?: true | undefined;
}): string {
  const all = counted(queues, 'queue', 'queues');
  return moreQueues === true ? `the first ${all}; use --queue for others` : all;
}

function countText(count: number | undefined): string {
  return count === undefined ? 'an unknown number' : `about ${count}`;
}
