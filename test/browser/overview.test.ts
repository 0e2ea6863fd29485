import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleInfoSchema } from '../../shared/wire/views/console.ts';
import { apiEnvironment } from '../unit/cli/run-command.ts';
import { inBrowser, launchChromium } from './chromium.ts';
import { startConsoleCommand, type RunningConsole } from './console-command.ts';
import { axeViolations, goTo, isTooWide, openPage } from './console-page.ts';
import { servedApi, type ServedApi } from './served-api.ts';

let browser: Browser;
let served: RunningConsole;
let api: ServedApi;

inBrowser('the first page of the console, given', () => {
  beforeAll(async () => {
    api = await servedApi();
    await api.registry.putQueue({ name: 'first', metadata: {}, createdAt: 0 });
    [browser, served] = await Promise.all([launchChromium(), startConsoleCommand(apiEnvironment(api.url))]);
  });

  afterAll(async () => {
    await browser.close();
    await served.stop();
    await api.close();
  });

  it('no deployment, says so once, and still designs policies', async () => {
    const message = 'The stack PosthastePipeline could not be looked up in AWS: Region is missing';
    const error = { code: 'no_deployment', message };
    const { page, faults, close } = await openPage(browser, 'about:blank');
    // As the command answers where there is none: a local start beside this test would be one.
    await page.route('**/api/v2/**', (route) => route.fulfill({ status: 503, json: { error } }));
    await page.route('**/api-local/info', async (route) => {
      const info = consoleInfoSchema.parse(await (await route.fetch()).json());
      await route.fulfill({ json: { ...info, deployment: null, version: null, problem: error } });
    });
    await page.goto(served.url);
    await page.getByText('There is no deployment here').waitFor();
    await page.getByText(/could not be looked up/).waitFor();
    expect(await page.getByText('another version').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await axeViolations(page)).toEqual([]);
    await goTo(page, '#/books');
    await page.getByRole('heading', { level: 1, name: 'Books' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByText(/could not be looked up/).count()).toBe(1);
    await goTo(page, '#/designer');
    await page.getByText('20 requests over 4 min 40 s').waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  it('queues that take their time, shows their figures as loading and the sums as incomplete', async () => {
    const { page, close } = await openPage(browser, 'about:blank');
    const waiting = Promise.withResolvers<undefined>();
    await page.route('**/api/v2/queues/first/**', async (route) => {
      await waiting.promise;
      await route.continue();
    });
    await page.goto(served.url);
    await page.getByText('Incomplete: 0 of 1 queue so far.').waitFor();
    expect(await page.locator('.tile', { hasText: 'Pending' }).textContent()).toBe('Pendingloading');
    expect(await axeViolations(page)).toEqual([]);
    waiting.resolve(undefined);
    await page.getByText('Of the one queue.').waitFor();
    expect(await page.locator('.tile', { hasText: 'Pending' }).textContent()).toBe('Pending0');
    expect(await page.locator('.tile', { hasText: 'Waiting in queues' }).textContent()).toMatch(/0$/);
    await close();
  });

  it('a narrow window, keeps its rooms on one line', async () => {
    const { page, close } = await openPage(browser, served.url, { width: 375, theme: 'light' });
    const rooms = page.getByRole('navigation', { name: 'Console' });
    await rooms.getByRole('link', { name: 'Policy designer' }).focus();
    const boxes = await Promise.all((await rooms.getByRole('link').all()).map((link) => link.boundingBox()));
    expect(boxes).toHaveLength(4);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    expect(await isTooWide(page)).toBe(false);
    await close();
  });
});
