import { startReceiver } from '../../test/support/receiver.ts';

/** A real HTTP server that fails the first request for a message, takes every other, and notes when they came. */
export type Subscriber = {
  url: (path: string) => string;
  /** Of requests under an id (`webhook-id`), in the order of their coming: milliseconds since the epoch. */
  arrivals: (id: string) => readonly number[];
};

/** The only one of these paths that takes the first request too. */
export const BARE_PATH = '/bare';

/** It ends with the stack. `failing`: the paths that fail the first. */
export const startSubscriber = async (
  stack: AsyncDisposableStack,
  failing: readonly string[],
): Promise<Subscriber> => {
  const receiver = await startReceiver();
  stack.defer(() => receiver.close());
  const arrivals = new Map<string, number[]>();
  const note = ({ headers, arrivedAt }: { headers: Record<string, unknown>; arrivedAt: number }): number => {
    const id = String(headers['webhook-id']);
    const all = [...(arrivals.get(id) ?? []), arrivedAt];
    arrivals.set(id, all);
    return all.length;
  };
  receiver.script(BARE_PATH, (request) => {
    note(request);
    return {};
  });
  for (const path of failing)
    receiver.script(path, (request) => (note(request) === 1 ? { status: 503 } : {}));
  return { url: receiver.url, arrivals: (id) => arrivals.get(id) ?? [] };
};
