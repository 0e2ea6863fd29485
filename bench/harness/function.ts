import { openSync, closeSync, fstatSync } from 'node:fs';
import { join } from 'node:path';
import { variables } from '../../shared/config/resources.ts';
import { completeEnvironment } from '../../test/support/complete-environment.ts';
import { bundle } from '../../test/support/bundle.ts';
import { type Run, runAnswer, startChild } from './child.ts';
import { Problem } from '../../local/install/problem.mjs';

export type MeasuredFunction = {
  /** @throws Problem when a message was not acknowledged: what took how long would say nothing */
  run: (bodies: readonly string[]) => Promise<Run>;
  /** What it has written to its log so far. */
  logBytes: () => number;
};

export type FunctionOptions = {
  /** Its own among the files of the bench. */
  name: string;
  entry: URL;
  endpoint: string;
  /** The heap is as Lambda has it in a function of so much memory. Default: Node's own. */
  memoryMegabytes?: number;
  /** More of its environment. */
  env?: Record<string, string>;
  /** Where its bundle and its log go. */
  folder: string;
};

const environment = (endpoint: string): Record<string, string> => ({
  ...completeEnvironment,
  // SQS is asked at the address that the URL of the queue says.
  [variables.deliveryQueueUrl]: `${endpoint}/000000000000/delivery`,
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'bench',
  AWS_SECRET_ACCESS_KEY: 'bench',
  AWS_LAMBDA_FUNCTION_NAME: 'measured',
  _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=0',
  UV_THREADPOOL_SIZE: '64',
});

/** A function in a process of its own, built as for its deployment, on a network of loopback. */
export const startFunction = async (
  stack: AsyncDisposableStack,
  { name, entry, endpoint, memoryMegabytes, env, folder }: FunctionOptions,
): Promise<MeasuredFunction> => {
  const file = join(folder, `${name}.mjs`);
  await bundle(entry, file);
  const log = stack.adopt(openSync(join(folder, `${name}.log`), 'a'), closeSync);
  const child = stack.use(
    startChild(new URL('function-process.ts', import.meta.url), {
      args: [file],
      execArgv: ['--expose-gc', ...heapOf(memoryMegabytes), ...profiling(name)],
      env: {
        ...environment(endpoint),
        ...env,
      },
      output: log,
    }),
  );
  return {
    run: async (bodies) => {
      const run = await child.ask({ bodies }, runAnswer);
      if (run.failed > 0)
        throw new Problem(`${name} did not acknowledge ${run.failed} of ${bodies.length} messages.`);
      return run;
    },
    logBytes: () => fstatSync(log).size,
  };
};

/** As `/var/runtime/bootstrap` of Lambda's image for Node.js reckons it, in whole megabytes. */
const heapOf = (megabytes: number | undefined): string[] => {
  if (megabytes === undefined) return [];
  const young = Math.floor(megabytes / 10);
  return [
    `--max-semi-space-size=${Math.floor(young / 2)}`,
    `--max-old-space-size=${megabytes - young}`,
    '--max-http-header-size=81920',
  ];
};

/** Where the time goes: `BENCH_PROFILE=<folder>` leaves a profile of each process in it, for Chrome's developer tools. */
const profiling = (name: string): string[] => {
  const folder = process.env['BENCH_PROFILE'];
  return folder === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`];
};
