import type { Browser, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { REQUESTS_PER_MINUTE } from '../../shared/domain/portal/session.ts';
import { subscribe } from './busy-deployment.ts';
import { inBrowser, launchChromium } from './chromium.ts';
import { axeViolations, goTo, openPage } from './console-page.ts';
import { servedPortal, type Grant, type ServedPortal } from './served-portal.ts';

const CATALOGUE = {
  'invoice.paid': { group: 'Invoices', description: 'An invoice was paid in full.' },
  'order.created': {
    ...{ group: 'Orders', description: 'A buyer placed an order.' },
    example: { id: 'order-17', total: 1250 },
  },
  'order.placed': { group: 'Orders', deprecated: true },
  'order.inspected': { group: 'Orders', description: 'For one customer.', queues: ['acme', 'chosen-few'] },
};

/** The customer comes back to the tab: the page reads again at once. By itself it would up to ten seconds later. */
const comeBack = (page: Page): Promise<void> => page.locator('html').dispatchEvent('visibilitychange');

const row = (shown: Page | Frame, name: string | RegExp) => shown.getByRole('row', { name });

inBrowser('the portal', () => {
  let browser: Browser;
  let portal: ServedPortal;

  beforeAll(async () => {
    [browser, portal] = await Promise.all([launchChromium(), servedPortal(CATALOGUE)]);
  });
  afterAll(async () => {
    await browser.close();
    await portal.close();
    expect(portal.faults).toEqual([]);
  });

  /** Opens a new link. */
  const open = async (grant: Grant) => {
    const link = await portal.link(grant);
    const opened = await openPage(browser, link.url);
    await opened.page.getByRole('heading', { level: 1 }).waitFor();
    return { ...opened, ...link };
  };

  /** From an empty list to a recovered delivery. `shown`: the page, or its frame. */
  const takeTheWay = async (shown: Page | Frame): Promise<void> => {
    await shown.getByText('No endpoints yet').waitFor();
    await shown.getByRole('button', { name: 'Add endpoint' }).click();
    await shown.getByLabel('URL').fill('https://acme.example.com/hooks');
    await shown.getByLabel('All events').uncheck();
    await shown.getByRole('button', { name: 'Create' }).click();
    await shown.getByText('Choose at least one event.').waitFor();
    await shown.getByLabel('order.created').check();
    await shown.getByRole('button', { name: 'Create' }).click();
    expect(await shown.locator('code.secret').textContent()).toMatch(/^whsec_/);
    await shown.getByRole('button', { name: 'Done' }).click();
    expect(await shown.content()).not.toContain('whsec_');

    portal.setDown(true);
    await row(shown, /acme\.example\.com/)
      .getByRole('link')
      .click();
    await shown.getByLabel('Event', { exact: true }).selectOption('order.created');
    expect(await shown.getByLabel('Data').inputValue()).toContain('order-17');
    await shown.getByRole('button', { name: 'Send', exact: true }).click();
    await shown.getByText('Response: 503').waitFor();
    await shown.getByLabel('Status').selectOption('exhausted');
    await row(shown, /retries exhausted/)
      .getByRole('link')
      .click();
    await shown.getByText('down for maintenance').waitFor();
    await shown
      .getByRole('region', { name: 'the curl command' })
      .getByText('acme.example.com/hooks')
      .waitFor();

    portal.setDown(false);
    await shown.getByRole('link', { name: 'Endpoint', exact: true }).click();
    await shown.getByRole('button', { name: 'Recover' }).click();
    await shown.getByText(/^Recovery started .*running$/).waitFor();
    await portal.operateAndDeliver();
    await shown.getByText(/^1 of 1 delivery delivered/).waitFor();
  };

  it('takes a customer from the link to a recovered delivery', async () => {
    const { page, faults, token } = await open({ queue: 'acme' });
    expect(page.url()).toBe(`${portal.url}#/`);
    await takeTheWay(page);
    // The token was in the body of the exchange only.
    expect(portal.seen.join('\n')).not.toContain(token);
    const kept =
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state, document.cookie])';
    expect(await page.evaluate(kept)).not.toContain(token);
    await page.goBack();
    expect(page.url()).not.toContain(token);
    expect(portal.seen.some((request) => /"(cookie|referer)":/.test(request))).toBe(false);
    expect(faults).toEqual([]);
    // The policy of the function holds.
    await expect(page.evaluate(`document.body.innerHTML = '<p>planted</p>'`)).rejects.toThrow('TrustedHTML');
  });

  it('takes a customer the same way in a frame on another origin, and tells that its height', async () => {
    const { url, token } = await portal.link({ queue: 'framed' });
    const host = await portal.embed(url, { listed: true });
    const { page, faults } = await openPage(browser, host.origin);
    await page.frameLocator('#portal').getByRole('heading', { level: 1 }).waitFor();
    const frame = page.frames().find((one) => one.url().startsWith(portal.url));
    if (frame === undefined) throw new Error('the portal is in no frame');
    expect(frame.url()).toBe(`${portal.url}#/`);
    const height = () => page.evaluate('window.heights.at(-1) ?? 0');
    await expect.poll(height).toBeGreaterThan(600);
    const before = await height();
    await takeTheWay(frame);
    expect(await height()).toBeGreaterThan(Number(before));
    await expect
      .poll(() => frame.evaluate('document.documentElement.scrollHeight > innerHeight + 1'))
      .toBe(false);
    expect(portal.seen.filter((request) => !request.startsWith('embedder')).join('\n')).not.toContain(token);
    expect(faults).toEqual([]);
    await host.close();
  });

  it('changes, pauses, resumes and deletes an endpoint, and rotates its secret', async () => {
    const id = await subscribe(portal.api, 'changes', {
      subscriber: 'https://one.example.com/hooks',
      options: { filter: { total: [{ numeric: ['>', 100] }] } },
    });
    const { page } = await open({ queue: 'changes' });
    await goTo(page, `#/queues/changes/subscriptions/${id}`);
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Name').fill('Warehouse');
    await page.getByLabel('Maximum requests per second').fill('5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Warehouse' }).waitFor();
    expect(await portal.api.registry.findSubscription('changes', id)).toMatchObject({
      options: { max_per_second: 5, filter: { total: [{ numeric: ['>', 100] }] } },
    });

    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.locator('code.secret').waitFor();
    await page.getByText('The old secret expires at').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await goTo(page, '#/');
    await row(page, /Warehouse/)
      .getByText('Waiting: 0 deliveries')
      .waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
    await page.getByText('enabled', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('URL').fill('https://two.example.com/hooks');
    await page.getByText('The signing secret changes').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('code.secret').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();

    // Without the capability the page would not get a new secret.
    const manager = await open({ queue: 'changes', capabilities: ['manage'] });
    await goTo(manager.page, new URL(page.url()).hash);
    await manager.page.getByRole('button', { name: 'Change' }).click();
    await manager.page.getByLabel('URL').fill('https://three.example.com/hooks');
    const patched = manager.page.waitForRequest((request) => request.method() === 'PATCH');
    await manager.page.getByRole('button', { name: 'Save' }).click();
    expect((await patched).postDataJSON()).toEqual({
      ...{ subscriber: 'https://three.example.com/hooks', secret: 'keep' },
    });

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the endpoint' }).click();
    await page.getByText('No endpoints yet').waitFor();
  });

  it('retries one delivery, and offers that only where the link includes it', async () => {
    const id = await subscribe(portal.api, 'retried', { subscriber: 'https://retried.example.com/hooks' });
    portal.setDown(true);
    await portal.api.call('POST', `/v2/queues/retried/subscriptions/${id}/test`, {});
    portal.setDown(false);
    const { page } = await open({ queue: 'retried' });
    await goTo(page, `#/queues/retried/subscriptions/${id}`);
    await row(page, /posthaste\.test/)
      .getByRole('link')
      .click();
    await page.getByText('down for maintenance').waitFor();
    portal.deployWith({ responseBodies: false });
    const reader = await open({ queue: 'retried', capabilities: ['deliveries'] });
    await goTo(reader.page, new URL(page.url()).hash);
    await reader.page.getByText('The bodies of responses are not shown.').waitFor();
    expect(await reader.page.getByText('down for maintenance').count()).toBe(0);
    expect(await reader.page.getByRole('button', { name: 'Deliver again' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Deliver again' }).click();
    await page.getByRole('button', { name: 'Retry now' }).waitFor();
    await portal.operateAndDeliver();
    await comeBack(page);
    await page.locator('.facts').getByText('delivered', { exact: true }).waitFor();
  });

  it('keeps the session of a tab over a reload, and of no other tab', async () => {
    const { page } = await open({ queue: 'acme' });
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    const other = await page.context().newPage();
    await other.goto(portal.url);
    await other.getByText('Open this page by its link').waitFor();
    expect(await axeViolations(other)).toEqual([]);
  });

  it('says clearly that a link was used, and does not go on with the session of another link', async () => {
    const { page, url } = await open({ queue: 'acme' });
    const used = await openPage(browser, url);
    await used.page.getByText('This link is no longer valid').waitFor();
    await used.page.getByText('Ask for a new link').waitFor();
    expect(used.page.url()).toBe(`${portal.url}#/`);
    expect(await axeViolations(used.page)).toEqual([]);
    await page.evaluate(`location.hash = '${new URL(url).hash}'`);
    await page.getByText('This link is no longer valid').waitFor();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  it('shows nothing any more when the session ends', async () => {
    const { page, sessionId } = await open({ queue: 'acme' });
    await portal.api.call('DELETE', `/v2/queues/acme/portal-links/${sessionId}`);
    await goTo(page, '#/queues/acme/subscriptions/any');
    await page.getByText('Your session has ended').waitFor();
    expect(await page.getByText('acme.example.com').count()).toBe(0);
    await page.reload();
    await page.getByText('Your session has ended').waitFor();
  });

  it('can be opened again after a failure that is not of the link', async () => {
    const { url } = await portal.link({ queue: 'acme' });
    const { page } = await openPage(browser, 'about:blank');
    await page.route('**/portal/session', (route) => route.abort(), { times: 1 });
    await page.goto(url);
    await page.getByText('The page could not be opened').waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
  });

  it('shows the events once they can be read, and one failure until then', async () => {
    const { page } = await open({ queue: 'acme' });
    await page.route('**/portal/api/**', (route) => route.abort());
    await page.reload();
    await page.getByText('The service cannot be reached.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    await page.getByRole('link', { name: 'Events' }).click();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.unroute('**/portal/api/**');
    await comeBack(page);
    await page.getByText('A buyer placed an order.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('says why the names of events are missing, takes typed ones, and offers all once they can be read', async () => {
    const { page } = await open({ queue: 'acme', capabilities: ['manage'] });
    await page.route('**/portal/api/event-types*', (route) => route.abort());
    await page.reload();
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByLabel('All events, also those that are added later').uncheck();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.getByLabel('Names of events').pressSequentially('order.sent');
    expect(await page.getByLabel('Names of events').inputValue()).toBe('order.sent');
    await page.unroute('**/portal/api/event-types*');
    await comeBack(page);
    await page.getByLabel('order.created').waitFor();
    expect(await page.getByLabel('order.sent').isChecked()).toBe(true);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('says beside the test of an endpoint why the examples are missing', async () => {
    const id = await subscribe(portal.api, 'untold', { subscriber: 'https://untold.example.com/hooks' });
    const { page } = await open({ queue: 'untold', capabilities: ['test'] });
    await page.route('**/portal/api/event-types*', (route) => route.abort());
    await page.reload();
    await goTo(page, `#/queues/untold/subscriptions/${id}`);
    await page.getByRole('heading', { name: 'Send an example' }).waitFor();
    await page.getByText('The service cannot be reached.').waitFor();
  });

  it('shows only what the link grants', async () => {
    const id = await subscribe(portal.api, 'reader', { subscriber: 'https://reader.example.com/hooks' });
    const { page, faults } = await open({ queue: 'reader', capabilities: [] });
    await row(page, /reader\.example\.com/).waitFor();
    expect(await page.getByRole('main').getByRole('button').allTextContents()).toEqual([
      ...['Last hour', 'Last 24 hours', 'Last 7 days'],
    ]);
    await goTo(page, `#/queues/reader/subscriptions/${id}`);
    await page.getByText('enabled', { exact: true }).waitFor();
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await page.getByRole('main').getByRole('heading').allTextContents()).toEqual([
      'Endpoint https://reader.example.com/hooks',
    ]);
    await goTo(page, '#/event-types');
    await page.getByText('A buyer placed an order.').waitFor();
    await page.getByText('deprecated').waitFor();
    await page.getByText('Example', { exact: true }).click();
    await page.getByText('"order-17"').waitFor();
    // Not even by its address.
    await goTo(page, `#/queues/reader/messages/m/deliveries/${id}`);
    await page.getByText('Your access does not include this').waitFor();
    expect(faults).toEqual([]);
  });

  it('offers what the limits of the link allow', async () => {
    portal.deployWith({ limits: { endpoints: 1, hosts: ['*.example.com'], perSecond: 20 } });
    const { page } = await open({ queue: 'limited', event_types: ['order.created'] });
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await page.getByText('Allowed hosts: *.example.com.').waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(1);
    expect(await page.getByLabel('Maximum requests per second').inputValue()).toBe('20');
    await page.getByLabel('URL').fill('ftp://acme.example.com');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('.field-faulty').getByText(/http/).first().waitFor();
    await page.getByLabel('URL').fill('https://elsewhere.example.net/');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('.field-faulty').getByText('must be on one of these hosts: *.example.com').waitFor();
    await page.getByLabel('URL').fill('https://acme.example.com/hooks');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByText('1 of 1 endpoints.').waitFor();
    expect(await page.getByRole('button', { name: 'Add endpoint' }).count()).toBe(0);
  });

  it('says in words what the API refuses: an endpoint too many, and too many requests', async () => {
    portal.deployWith({ limits: { endpoints: 1 } });
    const { page, sessionId, faults } = await open({ queue: 'refused' });
    await page.getByRole('button', { name: 'Add endpoint' }).click();
    await subscribe(portal.api, 'refused', { subscriber: 'https://other-tab.example.com/' });
    await page.getByLabel('URL').fill('https://acme.example.com/hooks');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').getByText('There can be at most 1 endpoint.').waitFor();
    const session = [...portal.api.portalSessions.stored.values()].find(({ name }) =>
      name.startsWith(`${sessionId}.`),
    );
    if (session === undefined) throw new Error('the session is not stored');
    // The next minute, which this one may become at any time.
    const limit = { now: Date.now() + 60_000, perMinute: REQUESTS_PER_MINUTE };
    while ((await portal.api.portalSessions.countRequest(session, limit)).kind === 'counted');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Too many requests').first().waitFor();
    await page
      .getByText(/A session may make 120 requests in a minute/)
      .first()
      .waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('shows one customer nothing of another, also if the address names the other queue', async () => {
    const id = await subscribe(portal.api, 'acme', { subscriber: 'https://secret.example.com/' });
    const { body } = await portal.api.call('POST', `/v2/queues/acme/subscriptions/${id}/test`, {});
    const { messageId } = z.object({ delivery: z.object({ messageId: z.string() }) }).parse(body).delivery;
    const { page } = await open({ queue: 'other' });
    portal.answers.length = 0;
    await page.reload();
    await page.getByText('No endpoints yet').waitFor();
    await goTo(page, `#/queues/acme/subscriptions/${id}`);
    await page.getByText('Not found', { exact: true }).waitFor();
    await goTo(page, `#/queues/acme/messages/${messageId}/deliveries/${id}`);
    await page.getByText('Not found', { exact: true }).waitFor();
    await goTo(page, '#/event-types');
    await page.getByText('A buyer placed an order.').waitFor();
    await page.waitForLoadState('networkidle');
    expect(portal.answers.join('\n')).toContain('order.created');
    expect(portal.answers.join('\n')).not.toMatch(/secret\.example|order\.inspected/);

    // Which other customers there are is not shown either.
    const acme = await open({ queue: 'acme' });
    await goTo(acme.page, '#/event-types');
    await acme.page.getByText('For one customer.').waitFor();
    expect(portal.answers.join('\n')).not.toContain('chosen-few');
  });

  it('says that a link or session has expired', async () => {
    const { page } = await open({ queue: 'acme' });
    const { url } = await portal.link({ queue: 'acme', expires_in: 60 });
    portal.setAhead(60_001);
    const late = await openPage(browser, url);
    await late.page.getByText('It has expired, was used before, or was ended.').waitFor();
    portal.setAhead(8 * 3_600_000);
    await page.getByRole('link', { name: 'Events' }).click();
    await page.reload();
    await page.getByText('Your session has ended').waitFor();
  });

  it('does not load in a frame of an origin that is not listed', async () => {
    const { url } = await portal.link({ queue: 'acme' });
    const host = await portal.embed(url, { listed: false });
    const { page } = await openPage(browser, host.origin);
    await expect
      .poll(() => page.frames().map((frame) => frame.url()))
      .toContainEqual(expect.stringMatching(/^chrome-error:/));
    expect(await page.evaluate('window.heights.length')).toBe(0);
    await host.close();
  });
});
