import { apiPath } from '../../../cli/api/api-request.ts';
import type { RedrivenQueue } from '../../../shared/domain/vocabulary.ts';
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
import type { PageClient } from './page-client.ts';

export type DeadLetterChange = 'redrive' | 'delete';

/** Approximate counts of all queues. */
export function countDeadLetters(api: PageClient): Promise<DeadLetterCounts> {
  return api.callLocal({ method: 'GET', path: '/dead-letters' }, deadLetterCountsSchema);
}

/** Looks at up to 100 dead letters, which hides them from other programs meanwhile. */
export function lookAtDeadLetters(
  api: PageClient,
  which: RedrivenQueue,
  filter: Readonly<Record<'queue' | 'subscription' | 'reason', string | undefined>>,
): Promise<DeadLetterLook> {
  const path = apiPath`/dead-letters/${which}`;
  return api.callLocal({ method: 'GET', path, query: filter }, deadLetterLookSchema);
}

export function showDeadLetter(api: PageClient, which: RedrivenQueue, id: string): Promise<DeadLetterDetail> {
  return api.callLocal(
    { method: 'GET', path: apiPath`/dead-letters/${which}/${id}` },
    deadLetterDetailSchema,
  );
}

/** Redrives or deletes the dead letters with these ids. */
export function changeDeadLetters(
  api: PageClient,
  which: RedrivenQueue,
  change: DeadLetterChange,
  ids: readonly string[],
): Promise<DeadLetterResult> {
  const path = apiPath`/dead-letters/${which}/${change}`;
  return api.callLocal({ method: 'POST', path, body: JSON.stringify({ ids }) }, deadLetterResultSchema);
}
