import * as z from 'zod';

/** What the process with the stubs is asked. */
export const stubQuestion = z.discriminatedUnion('ask', [
  z.object({ ask: z.literal('listen') }),
  z.object({
    ask: z.literal('add_queue'),
    name: z.string(),
    fanOut: z.number(),
    /** Origins of subscribers in place of the stub's own. What they fail at is not tried again. */
    subscribers: z.array(z.string()).exactOptional(),
  }),
  z.object({ ask: z.literal('take_jobs') }),
  z.object({ ask: z.literal('take_counts') }),
  z.object({ ask: z.literal('requests') }),
]);

export const addressesAnswer = z.object({ endpoint: z.string(), subscribers: z.array(z.string()) });

export const doneAnswer = z.object({ done: z.literal(true) });

/** The bodies of the messages that were sent to queues since this was last asked. */
export const jobsAnswer = z.object({ jobs: z.array(z.string()) });

/** How often what was asked since this was last asked; `POST` is what subscribers got. */
export const countsAnswer = z.object({ counts: z.record(z.string(), z.number()) });

export type Counts = z.output<typeof countsAnswer>['counts'];

const requestOfOurs = z.record(z.string(), z.unknown());

/** As they came over the wire: the last claim and the last record of an attempt, the same of a chunk, and the headers of the last POST. */
export const requestsAnswer = z.object({
  claim: requestOfOurs,
  record: requestOfOurs,
  chunkClaim: requestOfOurs,
  chunkRecord: requestOfOurs,
  headers: z.record(z.string(), z.string()),
});
