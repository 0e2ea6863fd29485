import type { ZodType } from 'zod';
import { startChild } from '../child.ts';
import { subscriptionIdAt } from '../aws-stub/items.ts';
import {
  addressesAnswer,
  countsAnswer,
  doneAnswer,
  jobsAnswer,
  requestsAnswer,
  type Counts,
} from '../aws-stub/questions.ts';

/** What stands for AWS and for subscribers. */
export type Stubs = {
  endpoint: string;
  /** `subscribers`: origins in place of the stubs' own; what they fail at is not tried again. */
  addQueue: (name: string, fanOut: number, subscribers?: readonly string[]) => Promise<void>;
  /** What was sent to the delivery queue since this was last asked. */
  takeJobs: () => Promise<string[]>;
  takeCounts: () => Promise<Counts>;
  /** From requests of ours, what a bare program needs to make the same. */
  template: () => Promise<object>;
};

export const startStubs = async (stack: AsyncDisposableStack): Promise<Stubs> => {
  const child = stack.use(
    startChild(new URL('../aws-stub/stub-process.ts', import.meta.url), {
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
    template: async () => {
      const { headers, ...requests } = await ask({ ask: 'requests' }, requestsAnswer);
      const ofConnection = new Set(['host', 'connection', 'content-length']);
      return {
        ...requests,
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name))),
        urls: Object.fromEntries(
          subscribers.map((origin, index) => [subscriptionIdAt(index), `${origin}/hook/${index}`]),
        ),
      };
    },
  };
};
