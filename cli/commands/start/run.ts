import { z } from 'zod';
import { orElse } from '../../../api-client/refusal.ts';
import { endpointsFile, removeEndpoints, writeEndpoints } from '../../../local/endpoints.ts';
import { localFolder, programFile } from '../../../local/install/paths.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import { freshLog, readTail, startGroup } from '../../../local/install/process-group.mjs';
import { inSeconds, step } from '../../../local/install/progress.mjs';
import { plainEnvironment } from '../../../local/local-aws.ts';
import { startLocalSystem, type LocalSystem } from '../../../local/local-system.ts';
import { showPresence } from '../../../local/presence.ts';
import { readPage } from '../../../shared/adapters/page-files.ts';
import type { PageFiles } from '../../../shared/wire/page.ts';
import { failureText } from '../../failure-report.ts';
import { INTERRUPTED, untilAborted } from '../../interruption.ts';
import { systemSleep } from '../../terminal.ts';
import { deploymentTarget, startConsole } from '../console/console-server.ts';
import { builtPage } from '../console/page-build.ts';
import { runDemo, type Demo } from './demo/demo.ts';
import { demoQueue, demoSchedulerThreshold } from './demo/scenario.ts';
import { hints } from './hints.ts';

/**
 * The request from launch.mjs, passed as JSON. This process runs on the project's Node, and stops when the IPC channel
 * closes.
 */
const requestSchema = z.object({
  options: z.object({
    once: z.boolean(),
    demo: z.boolean(),
    worker: z.literal(true).exactOptional(),
    port: z.int().exactOptional(),
    context: z.record(z.string(), z.string()),
    app: z.string().exactOptional(),
  }),
  startedAt: z.number(),
});

type Request = z.infer<typeof requestSchema>;

async function main(request: Request, signal: AbortSignal): Promise<number> {
  const { options, startedAt } = request;
  // First: if it fails, nothing else has started.
  const presence = await showPresence();
  try {
    const page = localPage(signal);
    const system = await startLocalSystem({
      folder: localFolder,
      // An app of the user keeps its own settings, such as how callers of its API authenticate.
      settings: options.app === undefined ? { ...BUILT_IN, ...options.context } : options.context,
      signal,
      port: options.port,
      app: options.app,
    });
    try {
      writeEndpoints(endpointsFile, { ...system.endpoints, socket: presence.socket });
      console.log(`Deployed in ${inSeconds(Date.now() - startedAt)}.`);
      const shown = async (): Promise<number> =>
        withConsole(await page, (consoleUrl) => show(system, request, consoleUrl, signal));
      const work = options.worker === true ? withLocalWorker(shown) : shown();
      const unexpectedEnd = system.emulator.ended.then(() => {
        throw new Problem(`The local AWS stopped unexpectedly. See its log: ${system.emulator.log}`);
      });
      return await Promise.race([work, unexpectedEnd]);
    } finally {
      removeEndpoints(endpointsFile);
      await system.emulator.stop();
    }
  } finally {
    presence.end();
  }
}

const BUILT_IN = { apiAuthorization: 'none', schedulerThreshold: String(demoSchedulerThreshold) };

/** Runs the demo unless disabled, then keeps the system running until Ctrl-C. */
async function show(
  { endpoints }: LocalSystem,
  { options, startedAt }: Request,
  consoleUrl: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { schedulerThreshold } = { ...BUILT_IN, ...options.context };
  // Already for the demo. The hints, which follow it, repeat the address.
  if (options.demo && consoleUrl !== undefined) console.log(`Console: ${consoleUrl}`);
  const demo = options.demo
    ? await runDemo({ endpoints, startedAt, schedulerThreshold: Number(schedulerThreshold), signal })
    : undefined;
  try {
    const status = reportVerdicts(demo);
    if (options.once) return status;
    console.log(hints(endpoints, consoleUrl));
    if (demo !== undefined) console.log(`Attempts on queue ${demoQueue} are shown here as they are made.`);
    console.log('Press Ctrl-C to stop everything. Its data is lost then.\n');
    if (demo === undefined) await untilAborted(signal);
    else await demo.showMore().catch(orElse(() => signal.aborted, undefined));
    return 0;
  } finally {
    await demo?.close();
  }
}

function reportVerdicts(demo: Demo | undefined): number {
  const wrong = demo?.verdicts.filter(({ faults }) => faults.length > 0) ?? [];
  for (const { subscriber, message, faults } of wrong) {
    console.error(
      `Unexpected result: the delivery of ${message} to ${subscriber.name} ${faults.join(', ')}.`,
    );
  }
  if (demo !== undefined && wrong.length === 0) console.log('Every delivery ended as expected.\n');
  return wrong.length === 0 ? 0 : 1;
}

/** Runs the work beside `posthaste worker --local`, which does what the functions would. @throws Problem if it ends early */
async function withLocalWorker(work: () => Promise<number>): Promise<number> {
  const log = freshLog('worker.log');
  const args = [programFile('cli/posthaste.mjs'), 'worker', '--local', '--ceiling', '1'];
  const env = plainEnvironment();
  const worker = await startGroup(process.execPath, args, { env, cwd: process.cwd(), log });
  const early = worker.ended.then(() => {
    throw new Problem(`The worker ended. The end of its output (full log: ${log}):\n${readTail(log)}`);
  });
  console.log(`A worker does the work of the functions. Its log: ${log}`);
  try {
    return await Promise.race([work(), early]);
  } finally {
    early.catch(() => undefined);
    await worker.stop();
  }
}

/**
 * Builds the page if its sources have changed. Can run in parallel with the deployment. Returns the reason if the build
 * failed: `npm start` continues without it.
 */
async function localPage(signal: AbortSignal): Promise<PageFiles | string> {
  try {
    const folder = await builtPage({ signal, show: (work) => step('Building the console', work) });
    return await readPage(folder);
  } catch (failure) {
    return failure instanceof Problem ? failure.message : failureText(failure);
  }
}

/**
 * Serves the console of the local deployment while the work runs, and returns the exit status. If the console fails,
 * the work continues and the status is 1.
 */
async function withConsole(page: PageFiles | string, work: Work): Promise<number> {
  if (typeof page === 'string') return withoutConsole(page, work);
  const target = await deploymentTarget({ local: true }, { env: process.env, sleep: systemSleep });
  const served = await startConsole({ page, target });
  try {
    const fault = await consoleFault(served.url);
    if (fault !== undefined) return await withoutConsole(fault, work);
    return await work(served.url);
  } finally {
    await served.close();
  }
}

async function withoutConsole(reason: string, work: Work): Promise<number> {
  console.error(`The console is not available: ${reason}`);
  return Math.max(await work(undefined), 1);
}

/** Runs with the address of the console, if there is one, and returns the exit status. */
type Work = (consoleUrl: string | undefined) => Promise<number>;

/** Checks the page and the API behind it as a browser would. The ping route needs no authorisation. */
async function consoleFault(url: string): Promise<string | undefined> {
  const { origin, hash } = new URL(url);
  const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
  const page = await fetch(origin);
  if (!page.ok) return `its page returned status ${page.status}.`;
  const ping = await fetch(`${origin}/api/v2/ping`, { headers });
  return ping.ok ? undefined : `the API behind it returned status ${ping.status}.`;
}

const stopping = new AbortController();
const stop = (): void => {
  stopping.abort();
};
process.once('disconnect', stop);
if (!process.connected) stop();
// The terminal or pipe was closed.
process.stdout.once('error', stop);

try {
  process.exitCode = await main(requestSchema.parse(JSON.parse(process.argv[2] ?? '')), stopping.signal);
} catch (error) {
  if (stopping.signal.aborted) process.exitCode = INTERRUPTED;
  else {
    console.error(error instanceof Problem ? error.message : error);
    process.exitCode = 1;
  }
} finally {
  if (process.connected) process.disconnect();
}
