import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFunction, type MeasuredFunction } from '../harness/function.ts';
import { ingressMessages } from '../harness/messages.ts';
import { startStubs, type Stubs } from '../harness/stubs.ts';

/** The function, the one before it, and what it is held against. */
export type Programs = {
  stubs: Stubs;
  dispatch: MeasuredFunction;
  deliver: MeasuredFunction;
  /** The same calls and the same request. */
  bare: MeasuredFunction;
  /** The same request alone. */
  post: MeasuredFunction;
};

/** A fan-out that is compared: all of one chunk. */
export const FAN_OUT = 10;

/** The widest fan-out that is compared: ten chunks. */
export const WIDE = 100;

export const startPrograms = async (stack: AsyncDisposableStack): Promise<Programs> => {
  const folder = await mkdtemp(join(tmpdir(), 'posthaste-bench-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const stubs = await startStubs(stack);
  const started = (name: string, entry: string, env = {}) =>
    startFunction(stack, {
      name,
      entry: new URL(entry, import.meta.url),
      endpoint: stubs.endpoint,
      folder,
      env,
    });
  const dispatch = await started('dispatch', '../../functions/dispatch/handler.ts');
  const deliver = await started('deliver', '../../functions/deliver/handler.ts');
  for (const fanOut of [1, FAN_OUT]) {
    await stubs.addQueue(`template-${fanOut}`, fanOut);
    await dispatch.run(ingressMessages(`template-${fanOut}`, 1));
    await deliver.run(await stubs.takeJobs());
  }
  const file = join(folder, 'template.json');
  await writeFile(file, JSON.stringify(await stubs.template(WIDE)));
  const bare = await started('bare-calls', 'bare-calls.ts', { BENCH_TEMPLATE: file });
  const post = await started('bare-post', 'bare-post.ts', { BENCH_TEMPLATE: file });
  return { stubs, dispatch, deliver, bare, post };
};
