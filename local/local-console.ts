import { findApi } from '../cli/api/api-access.ts';
import { startConsole } from '../cli/commands/console/console-server.ts';
import { builtPage } from '../cli/commands/console/page-build.ts';
import { readPage, type PageFiles } from '../cli/commands/console/page-files.ts';
import { failureText } from '../cli/failure-text.ts';
import type { LoopbackServer } from '../cli/loopback/loopback-server.ts';
import { Problem } from './install/problem.mjs';
import { step } from './install/progress.mjs';

/** The page, or why there is none: all else of a start works without it. */
export type LocalPage = { kind: 'built'; files: PageFiles } | { kind: 'failed'; reason: string };

/** Builds the page where its sources have changed. It may go on beside the deployment. */
export async function localPage(signal: AbortSignal): Promise<LocalPage> {
  try {
    const folder = await builtPage({ signal, show: (work) => step('Building the console', work) });
    return { kind: 'built', files: await readPage(folder) };
  } catch (failure) {
    return { kind: 'failed', reason: failure instanceof Problem ? failure.message : failureText(failure) };
  }
}

/**
 * Serves the console of the local start that is up, for as long as the work takes. One that does not answer is told, and
 * makes the status 1: the work goes on all the same.
 */
export async function withConsole(
  page: LocalPage,
  work: (url: string | undefined) => Promise<number>,
): Promise<number> {
  if (page.kind === 'failed') {
    console.error(`There is no console: ${page.reason}`);
    return Math.max(await work(undefined), 1);
  }
  const access = await findApi({ local: true }, process.env);
  const served = await startConsole({
    page: page.files,
    surroundings: { kind: 'deployment', access },
  });
  try {
    return await besides(served, work);
  } finally {
    await served.close();
  }
}

async function besides(
  { url }: LoopbackServer,
  work: (url: string | undefined) => Promise<number>,
): Promise<number> {
  const fault = await consoleFault(url);
  if (fault === undefined) {
    console.log(`Look at it in the browser: ${url}`);
    return work(url);
  }
  console.error(`The console does not work: ${fault}.`);
  return Math.max(await work(undefined), 1);
}

/** As a browser would see it. Everybody may ask for the ping, whatever the API's authorisation. */
async function consoleFault(url: string): Promise<string | undefined> {
  const { origin, hash } = new URL(url);
  const headers = { authorization: `Bearer ${hash.replace('#token=', '')}` };
  const page = await fetch(origin);
  if (!page.ok) return `its page answers ${page.status}`;
  const ping = await fetch(`${origin}/api/v2/ping`, { headers });
  return ping.ok ? undefined : `the API behind it answers ${ping.status}`;
}
