import * as z from 'zod';

/** What a subscription gets of a message (docs/api.md#what-became-of-a-message). Empty while the message is not stored. */
export const payloadSchema = z.object({
  /** The request body, as text. */
  body: z.string().exactOptional(),
  /** Why the message cannot be rendered for the subscription. */
  fault: z.string().exactOptional(),
});
