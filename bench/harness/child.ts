import * as z from 'zod';
import { Problem } from '../../local/install/problem.mjs';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ZodType } from 'zod';

/** A process of a bench, which answers each question before it gets the next one. */
type Child = AsyncDisposable & {
  /** @throws Problem when it ends, or says that it cannot, instead of answering */
  ask: <Answer>(question: object, answer: ZodType<Answer>) => Promise<Answer>;
};

type ChildOptions = {
  args?: readonly string[];
  execArgv?: readonly string[];
  env?: Record<string, string>;
  /** Where its standard output goes: an open file. Default nowhere. */
  output?: number;
};

/** How much of what a process complained about is kept, in characters. */
const MOST_COMPLAINT = 4_000;

/** Nothing of the caller's environment is passed on: it could change what is measured. */
export const startChild = (file: URL, options: ChildOptions = {}): Child => {
  const child = fork(file, options.args ?? [], {
    stdio: ['ignore', options.output ?? 'ignore', 'pipe', 'ipc'],
    execArgv: [...(options.execArgv ?? [])],
    env: options.env ?? {},
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-MOST_COMPLAINT);
  });
  const ended = once(child, 'exit');
  const died = ended.then((): never => {
    throw new Problem(`A process of the bench ended before it was asked to. ${complaint}`);
  });
  // Nobody may be asking when it ends.
  died.catch(() => undefined);

  return {
    ask: async (question, schema) => {
      const answered = once(child, 'message');
      child.send(question);
      const message: unknown[] = await Promise.race([answered, died]);
      return schema.parse(message[0]);
    },
    [Symbol.asyncDispose]: async () => {
      // It ends by itself when nobody is there any more, and leaves its profile if it was to make one.
      if (child.connected) child.disconnect();
      await ended;
    },
  };
};

/** In the process itself: answers what it is asked, and ends with whoever started it. */
export const answerWith = <Question>(
  schema: ZodType<Question>,
  answer: (question: Question) => Promise<object>,
): void => {
  const reply = async (message: unknown): Promise<void> => {
    process.send?.(await answer(schema.parse(message)));
  };
  process.on('message', (message) => void reply(message));
  process.on('disconnect', () => process.exit());
};

/** What a process with a function in it is asked: to handle these messages of a queue, ten at a time. */
export const runQuestion = z.object({ bodies: z.array(z.string()) });

/** What it came to, in the process alone. */
export const runAnswer = z.object({
  cpuMs: z.number(),
  wallMs: z.number(),
  /** Of V8's heap, while it ran. */
  allocatedBytes: z.number(),
  /** Of V8's heap, afterwards, when all garbage was collected. */
  heapBytes: z.number(),
  /** Of the whole process. */
  residentBytes: z.number(),
  /** The most that the process has had since it began. */
  peakResidentBytes: z.number(),
  /** Messages that were not acknowledged. */
  failed: z.number(),
});

export type Run = z.output<typeof runAnswer>;
