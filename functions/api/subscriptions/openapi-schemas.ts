import * as z from 'zod';
import { comparisons, scalar } from '../../../shared/domain/subscription/content-filter-comparisons.ts';
import { retryPolicySchema } from '../../../shared/domain/retry/policy-schema.ts';
import { postHeaderRecord } from './post-headers.ts';
import { optionsSchema, subscriptionPatchSchema, subscriptionRequestSchema } from './request.ts';

const comparison = z.union(
  Object.entries(comparisons).map(([name, operand]) => z.strictObject({ [name]: operand })),
);

/** What `parseContentFilter` takes, apart from its bounds. */
export const contentFilterSchema: z.ZodType = z
  .object({
    $or: z
      .array(z.lazy(() => contentFilterSchema))
      .min(2)
      .exactOptional(),
  })
  .catchall(z.union([z.array(z.union([scalar, comparison])).min(1), z.lazy(() => contentFilterSchema)]))
  .meta({
    minProperties: 1,
    description: 'As in event patterns of Amazon EventBridge.',
  });

/** What the routes look at in steps, together: the options are first read as such, and then what is in them. */
export const describedOptions = optionsSchema.extend({
  _retry_policy: retryPolicySchema.exactOptional(),
  post_headers: postHeaderRecord.exactOptional(),
  filter: contentFilterSchema.exactOptional(),
});

const subscriber = z
  .string()
  .meta({ format: 'uri', description: 'http or https, and not at a private address.' });

export const describedSubscription = subscriptionRequestSchema.extend({
  subscriber,
  options: describedOptions.exactOptional(),
});

export const describedSubscriptionPatch = subscriptionPatchSchema
  .extend({ subscriber: subscriber.exactOptional(), options: describedOptions.exactOptional() })
  .meta({ minProperties: 1 });
