import * as z from 'zod';
import { type FunctionName, MEMORY_MEGABYTES, parseValue, wholeNumber } from './rules.ts';

const MEMORY = 'a JSON object of functions and whole megabytes from 128 to 10240, such as {"deliver": 384}';

/** Lambda's bounds ("Configure Lambda function memory", AWS Lambda developer guide). */
const megabytes = wholeNumber('megabytes', 128, 10_240);

/** Apart from the rules of settings that functions read, because a schema takes time at each cold start. */
export const functionMemory = z
  .preprocess(
    parseValue,
    z.strictObject(
      {
        // Its default depends on payloadSources.
        dispatch: megabytes.optional(),
        deliver: megabytes.default(MEMORY_MEGABYTES.deliver),
        reconcile: megabytes.default(MEMORY_MEGABYTES.reconcile),
        operate: megabytes.default(MEMORY_MEGABYTES.operate),
        api: megabytes.default(MEMORY_MEGABYTES.api),
        secrets: megabytes.default(MEMORY_MEGABYTES.secrets),
        portal: megabytes.default(MEMORY_MEGABYTES.portal),
      } satisfies Record<FunctionName, z.ZodType>,
      `must be ${MEMORY}`,
    ),
  )
  .describe(MEMORY);
