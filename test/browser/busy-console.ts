import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { apiEnvironment } from '../unit/cli/run-command.ts';
import { busyDeployment } from './busy-deployment.ts';
import { launchChromium } from './chromium.ts';
import { startConsoleCommand } from './console-command.ts';
import { openPage, type Look, type OpenedPage } from './console-page.ts';
import { servedApi, type ServedApi } from './served-api.ts';

export type BusyConsole = Awaited<ReturnType<typeof busyDeployment>> & {
  api: ServedApi;
  browser: Browser;
  /** With the token, as an operator opens it. */
  url: string;
  /** The first page, in a tab of its own. */
  open: (look?: Look) => Promise<OpenedPage>;
};

/** The console on a deployment in the middle of its day, for all tests of a suite. Gives it once it is there. */
export const busyConsole = (): (() => BusyConsole) => {
  let there: BusyConsole | undefined;
  let close = (): Promise<unknown> => Promise.resolve();

  beforeAll(async () => {
    const api = await servedApi();
    const ids = await busyDeployment(api);
    const [browser, served] = await Promise.all([
      launchChromium(),
      startConsoleCommand(apiEnvironment(api.url)),
    ]);
    close = () => Promise.all([browser.close(), served.stop(), api.close()]);
    there = { ...ids, api, browser, url: served.url, open: (look) => openPage(browser, served.url, look) };
  });

  afterAll(() => close());

  return () => {
    if (there === undefined) throw new Error('the console is not there before the tests begin');
    return there;
  };
};
