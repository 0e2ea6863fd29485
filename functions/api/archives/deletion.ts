import * as z from 'zod';
import { REQUESTS_END_WITHIN_SECONDS, RESTORABLE_UNTIL } from '../../../shared/wire/views/archive.ts';
import { timeView } from '../../../shared/wire/fields.ts';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import type { ApiDependencies } from '../dependencies.ts';
import { flag } from '../fields.ts';

export const deletionQuery = z.strictObject({
  now: flag.describe('Whether to leave no archive: the deletion cannot be undone.'),
});

/** Until when a deletion that is asked for can be undone; undefined: it leaves no archive. */
export function findRestorableUntil(
  { clock, settings: { archiveMs } }: Pick<ApiDependencies, 'clock' | 'settings'>,
  { now }: z.output<typeof deletionQuery>,
): number | undefined {
  return now || archiveMs === 0 ? undefined : clock.now() + archiveMs;
}

/** A response whose headers say until when the deletion can be undone, and when the last request has ended. */
export function withDeletionHeaders(answer: ZodOpenApiResponseObject): ZodOpenApiResponseObject {
  const headers = z.object({
    [RESTORABLE_UNTIL]: timeView.exactOptional(),
    [REQUESTS_END_WITHIN_SECONDS]: z.string().exactOptional(),
  });
  return { ...answer, headers };
}
