import { deploymentTarget } from '../console/console-info.ts';
import { startConsole, readPage, type PageFiles } from '../console/console-server.ts';
import { builtPage } from '../console/page-build.ts';
import { failureText } from '../../failure-report.ts';
import { systemSleep } from '../../terminal.ts';
import type { LoopbackServer } from '../../loopback/loopback-server.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { step } from '../../../local/install/progress.mjs';

/** The built page, or the reason why the build failed: `npm start` continues without it. */
export type LocalPage = { kind: 'built'; files: PageFiles } | { kind: 'failed'; reason: string };

/** Builds the page if its sources have changed. Can run in parallel with the deployment. */
export async function localPage(signal: AbortSignal): Promise<LocalPage> {
  try {
    const folder = await builtPage({ signal, show: (work) => step('Building the console', work) });
    return { kind: 'built', files: await readPage(folder) };
  } catch (failure) {
    return { kind: 'failed', reason: failure instanceof Problem ? failure.message : failureText(failure) };
  }
}

/**
 * Serves the console of the local deployment while the work runs, and returns the exit status. If the console fails,
 * the work continues and the status is 1.
 */
export async function withConsole(
  page: LocalPage,
  work: (url: string | undefined) => Promise<number>,
): Promise<number> {
  if (page.kind === 'failed') {
    console.error(`The console is not available: ${page.reason}`);
    return Math.max(await work(undefined), 1);
  }
  const target = await deploymentTarget({ local: true }, { env: process.env, sleep: systemSleep });
  const served = await startConsole({ page: page.files, target });
  try {
    return await serveDuring(served, work);
  } finally {
    await served.close();
  }
}

async function serveDuring(
  { url }: LoopbackServer,
  work: (url: string | undefined) => Promise<number>,
): Promise<number> {
  const fault = await consoleFault(url);
  if (fault === undefined) {
    console.log(`Console: ${url}`);
    return work(url);
  }
  console.error(`The console is not available: ${fault}.`);
  return Math.max(await work(undefined), 1);
}

/** Checks the page and the API behind it as a browser would. The ping route needs no authorisation. */
async function consoleFault(url: string): Promise<string | undefined> {
  const { origin, hash } = new URL(url);
  const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
  const page = await fetch(origin);
  if (!page.ok) return `its page returned status ${page.status}`;
  const ping = await fetch(`${origin}/api/v2/ping`, { headers });
  return ping.ok ? undefined : `the API behind it returned status ${ping.status}`;
}
