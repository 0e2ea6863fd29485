import * as z from 'zod';
import { startChild } from './child.ts';
import { subscriberAt, subscriptionIdAt } from './stub-items.ts';
import type { ZodType } from 'zod';

/** What stands for AWS and for subscribers. */
export type Stubs = {
  endpoint: string;
  /** `subscribers`: origins in place of the stubs' own; what they fail at is not tried again. */
  addQueue: (name: string, fanOut: number, subscribers?: readonly string[]) => Promise<void>;
  /** What was sent to the delivery queue since this was last asked. */
  takeJobs: () => Promise<string[]>;
  takeCounts: () => Promise<Counts>;
  /** From requests of ours, what a bare program needs to make the same to as many subscribers of a queue. */
  template: (fanOut: number) => Promise<object>;
};

export const startStubs = async (stack: AsyncDisposableStack): Promise<Stubs> => {
  const child = stack.use(
    startChild(new URL('./stub-process.ts', import.meta.url), {
      env: { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' },
    }),
  );
  const ask = <Answer>(question: object, answer: ZodType<Answer>) => child.ask(question, answer);
  const { endpoint, subscribers } = await ask({ ask: 'listen' }, addressesAnswer);
  return {
    endpoint,
    addQueue: async (name, fanOut, subscribers) => {
      const theirs = subscribers === undefined ? {} : { subscribers };
      await ask({ ask: 'add_queue', name, fanOut, ...theirs }, doneAnswer);
    },
    takeJobs: async () => (await ask({ ask: 'take_jobs' }, jobsAnswer)).jobs,
    takeCounts: async () => (await ask({ ask: 'take_counts' }, countsAnswer)).counts,
    template: async (fanOut) => {
      const { headers, ...requests } = await ask({ ask: 'requests' }, requestsAnswer);
      const ofConnection = new Set(['host', 'connection', 'content-length']);
      return {
        ...requests,
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name))),
        urls: Object.fromEntries(
          Array.from({ length: fanOut }, (_, index) => [
            subscriptionIdAt(index),
            subscriberAt(subscribers, index),
          ]),
        ),
      };
    },
  };
};

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

const addressesAnswer = z.object({ endpoint: z.string(), subscribers: z.array(z.string()) });

const doneAnswer = z.object({ done: z.literal(true) });

/** The bodies of the messages that were sent to queues since this was last asked. */
const jobsAnswer = z.object({ jobs: z.array(z.string()) });

/** How often what was asked since this was last asked; `POST` is what subscribers got. */
const countsAnswer = z.object({ counts: z.record(z.string(), z.number()) });

export type Counts = z.output<typeof countsAnswer>['counts'];

const requestOfOurs = z.record(z.string(), z.unknown());

/** As they came over the wire: the last claim and the last record of an attempt, the same of a chunk, and the headers of the last POST. */
const requestsAnswer = z.object({
  claim: requestOfOurs,
  record: requestOfOurs,
  chunkClaim: requestOfOurs,
  chunkRecord: requestOfOurs,
  headers: z.record(z.string(), z.string()),
});
