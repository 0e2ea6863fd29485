import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anAttempt, answered } from '../support/delivery-builders.ts';
import { busyDeployment, record, subscribe } from './busy-deployment.ts';
import { inBrowser, launchChromium } from './chromium.ts';
import {
  axeViolationsInBothThemes,
  goTo,
  isTooWide,
  LOOKS,
  NO_VIOLATIONS,
  openPage,
  picture,
} from './console-page.ts';
import { servedPortal, type ServedPortal } from './served-portal.ts';

const MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script><b>bold</b>';

const CATALOGUE = {
  'invoice.paid': {
    ...{ group: 'Invoices', description: 'An invoice was paid in full.' },
    example: { id: 'invoice-9', amount: 1250 },
  },
  'order.changed': { group: 'Orders', description: 'A buyer or a clerk changed an order.' },
  'order.created': {
    ...{ group: 'Orders', description: 'A buyer placed an order.' },
    example: { id: 'order-17', total: 1250, items: ['A-1'] },
    schema: { type: 'object', required: ['id', 'total'] },
  },
  'order.placed': { group: 'Orders', description: 'As order.created.', deprecated: true },
  ...Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [`stock.level-${index}`, { group: 'Stock' }]),
  ),
  markup: { group: MARKUP, description: MARKUP, example: MARKUP },
};

/** Colours on which white and black text is hard to read. */
const ACCENTS = { light: '#ffd400', dark: '#5b1fa2' };

inBrowser('the pages of the portal', () => {
  let browser: Browser;
  let portal: ServedPortal;
  let billing: string;

  beforeAll(async () => {
    [browser, portal] = await Promise.all([launchChromium(), servedPortal(CATALOGUE)]);
    // The portal shows nothing from before the queue, as it may have been another customer's.
    const createdAt = Date.now() - 86_400_000;
    await portal.api.registry.ensureQueue({ name: 'orders', metadata: {}, createdAt });
    ({ billing } = await busyDeployment(portal.api));
  });
  afterAll(async () => {
    await browser.close();
    await portal.close();
    expect(portal.faults).toEqual([]);
  });

  it.each(LOOKS)('are accessible and fit at $width px in both themes, loaded $theme', async (look) => {
    const isPictured = look.width === 1280;
    // The pictures show the default colour.
    if (!isPictured) portal.deployWith({ accent: ACCENTS[look.theme] });
    const { url } = await portal.link({ queue: 'orders' });
    const { page, faults } = await openPage(browser, url, look);
    const pages: [name: string, hash: string, loaded: string][] = [
      ['endpoints', '#/', 'Response times'],
      ['endpoint', `#/queues/orders/subscriptions/${billing}`, 'order-4711'],
      ['delivery', `#/queues/orders/messages/order-4704/deliveries/${billing}`, 'upstream connect error'],
      ['events', '#/event-types', 'A buyer placed an order.'],
      ['nowhere', '#/queues/orders/messages', 'Page not found'],
    ];
    for (const [name, hash, loaded] of pages) {
      await goTo(page, hash);
      await page.getByRole('main').getByText(loaded).first().waitFor();
      const violations = await axeViolationsInBothThemes(page, look.theme, async (theme) => {
        if (isPictured && (name === 'endpoints' || name === 'endpoint') && theme === 'light')
          await picture(page, `portal-${name}-${theme}`);
        if (isPictured && name === 'delivery' && theme === 'dark')
          await picture(page, `portal-${name}-${theme}`);
      });
      expect(violations, name).toEqual(NO_VIOLATIONS);
      expect(await isTooWide(page), name).toBe(false);
    }
    await goTo(page, '#/');
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByLabel('All events').uncheck();
    await page.getByLabel('Find an event').fill('order');
    expect(await page.getByRole('checkbox').count()).toBe(4);
    const violations = await axeViolationsInBothThemes(page, look.theme, async (theme) => {
      if (isPictured && theme === 'light') await picture(page, `portal-events-${theme}`);
    });
    expect(violations).toEqual(NO_VIOLATIONS);
    expect(faults).toEqual([]);
  });

  it('fit in 320 px, and on a coloured button every text can be read', async () => {
    const viewport = { width: 320, height: 640 };
    portal.deployWith({ accent: '#777777' });
    const { url } = await portal.link({ queue: 'orders' });
    const { page } = await openPage(browser, url, { width: 375, theme: 'light', viewport });
    for (const hash of ['#/', `#/queues/orders/subscriptions/${billing}`, '#/event-types']) {
      await goTo(page, hash);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await isTooWide(page), hash).toBe(false);
    }
    await goTo(page, '#/');
    await page.getByRole('button', { name: 'Add endpoint' }).hover();
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
  });

  it('are usable by keyboard: a skip link, a focus on each opened page, in forms and in dialogs', async () => {
    const { url } = await portal.link({ queue: 'orders' });
    const { page } = await openPage(browser, url);
    await page.getByRole('link', { name: /billing/ }).waitFor();
    await page.getByRole('link', { name: 'Acme webhooks' }).focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement?.id')).toBe('content');
    await page.getByRole('link', { name: /billing/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /billing/ }).waitFor();
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('H1');
    expect(await page.title()).toBe('https://billing.example.com/webhooks · Acme webhooks');
    await page.getByRole('button', { name: 'Delete' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Delete');
    const labelled = 'document.activeElement?.labels?.[0]?.textContent';
    await page.getByRole('button', { name: 'Change' }).press('Enter');
    await expect.poll(() => page.evaluate(labelled)).toBe('URL');
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('H1');
    await goTo(page, '#/');
    await page.getByRole('button', { name: 'Add endpoint' }).press('Enter');
    await expect.poll(() => page.evaluate(labelled)).toBe('URL');
  });

  it('show markup from operators, producers and receivers as plain text', async () => {
    const now = Date.now();
    await portal.api.call('PUT', '/v2/queues/planted', {});
    const id = await subscribe(portal.api, 'planted', {
      subscriber: `https://hooks.example.com/?q=${encodeURIComponent('x')}`,
      name: MARKUP,
      options: { post_headers: { 'x-note': MARKUP }, event_types: [MARKUP] },
    });
    await record(portal.api, {
      ...{ queue: 'planted', messageId: 'm', type: MARKUP, acceptedAt: now - 1000 },
      data: JSON.stringify({ text: MARKUP }),
      deliveries: [
        {
          ...{ subscriptionId: id, status: 'rejected', reason: MARKUP },
          attempts: [anAttempt({ startedAt: now, outcome: 'rejected', result: answered(400, MARKUP) })],
        },
      ],
    });
    portal.deployWith({ title: MARKUP });
    const { url } = await portal.link({ queue: 'planted' });
    const { page, faults } = await openPage(browser, url);
    for (const hash of [
      '#/',
      `#/queues/planted/subscriptions/${id}`,
      `#/queues/planted/messages/m/deliveries/${id}`,
      '#/event-types',
    ]) {
      await goTo(page, hash);
      const shown = page.locator('main');
      await expect.poll(() => shown.textContent(), { message: hash }).toContain('onerror="window.hit=1"');
      await page.waitForLoadState('networkidle');
      expect(await page.locator('body :is(img, script, b)').count(), hash).toBe(0);
    }
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(faults).toEqual([]);
  });
});
