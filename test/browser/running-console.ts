import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { apiEnvironment } from '../unit/cli/run-command.ts';
import { busyDeployment } from './busy-deployment.ts';
import { launchChromium } from './chromium.ts';
import { startConsoleCommand } from './console-command.ts';
import { goTo, type Look, openPage } from './console-page.ts';
import { servedApi } from './served-api.ts';

type Running<There> = There & {
  browser: Browser;
  /** The link with the session token, as the command prints it. */
  url: string;
  /** Opens the first page in a separate browser context. */
  open: (look?: Look) => ReturnType<typeof openPage>;
  openAt: (hash: string, look?: Look) => Promise<Page>;
};

/** Starts a browser and a console on this API for all tests of a suite, and returns a getter for what is there. */
export const runningConsole = <There extends { api: { url: string; close: () => Promise<unknown> } }>(
  start: () => Promise<There>,
): (() => Running<There>) => {
  let running: Running<There> | undefined;
  let close = (): Promise<unknown> => Promise.resolve();

  beforeAll(async () => {
    const there = await start();
    const [browser, served] = await Promise.all([
      launchChromium(),
      startConsoleCommand(apiEnvironment(there.api.url)),
    ]);
    close = async () => {
      await browser.close();
      expect(await served.stop()).toBe(0);
      await there.api.close();
    };
    const open = (look?: Look) => openPage(browser, served.url, look);
    const openAt = async (hash: string, look?: Look): Promise<Page> => {
      const { page } = await open(look);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await goTo(page, hash);
      return page;
    };
    running = { ...there, browser, url: served.url, open, openAt };
  });

  afterAll(() => close());

  return () => {
    if (running === undefined) throw new Error('the console is available only while the tests run');
    return running;
  };
};

export type BusyConsole = ReturnType<ReturnType<typeof busyConsole>>;

export const busyConsole = () =>
  runningConsole(async () => {
    const api = await servedApi();
    return { api, ...(await busyDeployment(api)) };
  });
