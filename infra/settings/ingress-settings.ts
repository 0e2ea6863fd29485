import { z } from 'zod';
import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message.ts';
import { valueOf } from './rules.ts';

/** A function's whole environment is at most 4 KB (AWS Lambda quotas), so a setting of free length is bounded. */
const LONGEST_ROUTES = 1500;

const ROUTES_RULE = `must be a JSON object whose values are queue names (${QUEUE_NAME_RULE})`;

/** What is taken in, and how it is read. */
export const ingressSettings = {
  /** Queue of an event that names none, by its source, detail-type or topic. JSON. Default none. */
  ingressRoutes: z
    .preprocess(
      valueOf,
      z
        .record(z.string(), z.string(ROUTES_RULE).refine(isQueueName, { error: ROUTES_RULE }), ROUTES_RULE)
        .refine((routes) => JSON.stringify(routes).length <= LONGEST_ROUTES, {
          error: `must be at most ${LONGEST_ROUTES} characters as JSON`,
        }),
    )
    .default({}),
};
