import { expect, it } from 'vitest';
import { statisticsViewSchema } from '../../shared/wire/views/statistics.ts';
import { consoleInfoSchema } from '../../shared/wire/views/console.ts';
import { inBrowser } from './chromium.ts';
import { axeViolations, goTo, isTooWide, openPage } from './console-page.ts';
import { runningConsole } from './running-console.ts';
import { servedApi } from './served-api.ts';

inBrowser('the first page of the console', () => {
  const there = runningConsole(async () => {
    const api = await servedApi();
    await api.registry.putQueue({ name: 'first', metadata: {}, createdAt: 0 });
    return { api };
  });

  it('reports a missing deployment once; the policy designer still works', async () => {
    const message = 'The stack PosthastePipeline could not be looked up in AWS: Region is missing';
    const error = { code: 'no_deployment', message };
    const { page, faults } = await openPage(there().browser, 'about:blank');
    // Stubbed, because a local deployment that runs beside this test would be found.
    await page.route('**/api/v2/**', (route) => route.fulfill({ status: 503, json: { error } }));
    await page.route('**/api-local/info', async (route) => {
      const info = consoleInfoSchema.parse(await (await route.fetch()).json());
      await route.fulfill({ json: { ...info, deployment: null, version: null, problem: error } });
    });
    await page.goto(there().url);
    await page.getByText('No deployment found').waitFor();
    await page.getByText(/could not be looked up/).waitFor();
    expect(await page.getByText('different version').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await axeViolations(page)).toEqual([]);
    await goTo(page, '#/books');
    await page.getByRole('heading', { level: 1, name: 'Reconciliation' }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByText(/could not be looked up/).count()).toBe(1);
    await goTo(page, '#/designer');
    await page.getByText('20 requests over 4 min 40 s').waitFor();
    expect(faults).toEqual([]);
  });

  it('says that a deployment is on this machine, with room for the words', async () => {
    const { page } = await openPage(there().browser, 'about:blank');
    await page.route('**/api-local/info', async (route) => {
      const info = consoleInfoSchema.parse(await (await route.fetch()).json());
      await route.fulfill({ json: { ...info, deployment: 'the local deployment', isLocal: true } });
    });
    await page.goto(there().url);
    await page.getByText('on this machine').waitFor();
    expect(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.place'))",
      ),
    ).toBe(0);
  });

  it('shows figures as loading and totals as incomplete while queues load', async () => {
    const { page } = await openPage(there().browser, 'about:blank');
    const waiting = Promise.withResolvers<undefined>();
    await page.route('**/api/v2/queues/first/**', async (route) => {
      await waiting.promise;
      await route.continue();
    });
    await page.goto(there().url);
    await page.getByText('Incomplete: 0 of 1 queue counted so far.').waitFor();
    expect(await page.locator('.tile', { hasText: 'Retrying' }).textContent()).toBe('Retryingloading');
    expect(await axeViolations(page)).toEqual([]);
    waiting.resolve(undefined);
    await page.getByText('Total of 1 queue, last hour.').waitFor();
    expect(await page.locator('.tile', { hasText: 'Retrying' }).textContent()).toBe('Retrying0');
    expect(await page.locator('.tile', { hasText: 'Waiting in SQS' }).textContent()).toMatch(/0$/);
  });

  it('says which setting is off where a deployment counts no statistics', async () => {
    const { page } = await openPage(there().browser, 'about:blank');
    await page.route('**/statistics?**', async (route) => {
      const statistics = statisticsViewSchema.parse(await (await route.fetch()).json());
      await route.fulfill({ json: { ...statistics, enabled: false } });
    });
    await page.goto(there().url);
    await page.getByText(/its setting queueStatistics is off/).waitFor();
    expect(await page.locator('.tile', { hasText: 'Delivered' }).textContent()).toBe('Deliverednot counted');
  });

  it('says how old its figures are while it cannot refresh, and when it tries again', async () => {
    const { page } = await there().open();
    await page.getByText('Total of 1 queue').waitFor();
    expect(await page.locator('.stale').count()).toBe(0);
    await page.route('**/api/**', (route) => route.abort());
    await page.getByText(/^As of \d\d:\d\d:\d\d, .* ago; trying again in \d+ s\.$/).waitFor();
    await page.getByText('Total of 1 queue').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await page.unroute('**/api/**');
    await page.locator('.stale').waitFor({ state: 'detached' });
  });

  it('names the column of each cell in a narrow window', async () => {
    const { page } = await there().open({ width: 375, theme: 'light' });
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
    const heads = await page.evaluate<string[]>(
      `[...document.querySelectorAll('td')].map((cell) => getComputedStyle(cell, '::before').content)`,
    );
    expect(heads).toHaveLength(7);
    expect(heads[0]).toContain('Queue');
    expect(heads).not.toContain('none');
  });

  it('keeps its navigation on one line in a narrow window', async () => {
    const { page } = await there().open({ width: 375, theme: 'light' });
    const navigation = page.getByRole('navigation', { name: 'Console' });
    await navigation.getByRole('link', { name: 'Designer' }).focus();
    const boxes = await Promise.all(
      (await navigation.getByRole('link').all()).map((link) => link.boundingBox()),
    );
    expect(boxes).toHaveLength(6);
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1);
    expect(await isTooWide(page)).toBe(false);
  });
});
