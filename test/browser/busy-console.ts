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
  /** The link with the session token, as the command prints it. */
  url: string;
  /** Opens the first page in a separate browser context. */
  open: (look?: Look) => Promise<OpenedPage>;
};

/** Starts one console on a busy deployment for all tests of a suite, and returns a getter for it. */
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
    if (there === undefined) throw new Error('the console is available only while the tests run');
    return there;
  };
};
