import { callBy, searchOf } from '../../../api-client/api-client.ts';
import type { RedrivenQueue } from '../../../shared/domain/work-queues.ts';
import {
  deadLetterCountsSchema,
  deadLetterDetailSchema,
  deadLetterLookSchema,
  deadLetterResultSchema,
  type DeadLetterCounts,
  type DeadLetterDetail,
  type DeadLetterLook,
  type DeadLetterResult,
} from '../../../shared/wire/views/console.ts';
import { encoded } from '../route.ts';
import type { PageClient } from './page-client.ts';

export type DeadLetterChange = 'redrive' | 'delete';

/** Approximate counts of all queues. */
export function countDeadLetters(api: PageClient): Promise<DeadLetterCounts> {
  return callBy(api.sendLocal, { method: 'GET', path: '/dead-letters', search: '' }, deadLetterCountsSchema);
}

/** Looks at up to 100 dead letters, which hides them from other programs meanwhile. */
export function lookAtDeadLetters(
  api: PageClient,
  which: RedrivenQueue,
  filter: Readonly<Record<'queue' | 'subscription' | 'reason', string | undefined>>,
): Promise<DeadLetterLook> {
  const request = { method: 'GET', path: `/dead-letters/${which}`, search: searchOf(filter) };
  return callBy(api.sendLocal, request, deadLetterLookSchema);
}

export function showDeadLetter(api: PageClient, which: RedrivenQueue, id: string): Promise<DeadLetterDetail> {
  const request = { method: 'GET', path: encoded`/dead-letters/${which}/${id}`, search: '' };
  return callBy(api.sendLocal, request, deadLetterDetailSchema);
}

/** Redrives or deletes the dead letters with these ids. */
export function changeDeadLetters(
  api: PageClient,
  which: RedrivenQueue,
  change: DeadLetterChange,
  ids: readonly string[],
): Promise<DeadLetterResult> {
  const path = `/dead-letters/${which}/${change}`;
  const request = { method: 'POST', path, search: '', body: JSON.stringify({ ids }) };
  return callBy(api.sendLocal, request, deadLetterResultSchema);
}
