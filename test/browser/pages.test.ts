import { expect, it } from 'vitest';
import type { EventFault } from '../../shared/domain/event-type/event-fault.ts';
import {
  consoleInfoSchema,
  type DeadLetterCounts,
  type DeadLetterLook,
} from '../../shared/wire/views/console.ts';
import { anAttempt } from '../support/delivery-builders.ts';
import { record } from './busy-deployment.ts';
import { busyConsole, type BusyConsole } from './running-console.ts';
import { inBrowser } from './chromium.ts';
import {
  axeViolationsInBothThemes,
  goTo,
  isTooWide,
  LOOKS,
  NO_VIOLATIONS,
  openPage,
  picture,
} from './console-page.ts';

/** Pictures used in the README and in docs/command.md. */
const PICTURED: ReadonlySet<string> = new Set([
  'delivery-light',
  'delivery-dark',
  'overview-light',
  'designer-light',
  'books-light',
]);

const COUNTS: DeadLetterCounts = { queues: [{ which: 'ingress', visible: 340, hidden: 12 }] };

const A_LOOK: DeadLetterLook = {
  place: 'Posthaste, account 111122223333, us-east-1',
  deadLetters: ['0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10', '8f9d1f0a-64a4-4d38-9c0f-2f4b7b0f9a11'].map((id) => ({
    which: 'ingress',
    id,
    sentAt: new Date(Date.now() - 3_600_000).toISOString(),
    receives: 2,
    reason: 'unknown_queue',
    queue: 'ordres',
    messageId: 'order-4711',
    subscriptionIds: [],
    bytes: 47,
    excerpt: '{"queue":"ordres","id":"order-4711","data":{"total":1250}}',
  })),
  total: 340,
  complete: false,
  hidden: 12,
  hiddenUntil: new Date(Date.now() + 300_000).toISOString(),
};

const LOOKS_AT: Partial<Record<string, DeadLetterLook>> = {
  ingress: A_LOOK,
  delivery: { place: A_LOOK.place, deadLetters: [], total: 3, complete: true, hidden: 0 },
};

const CATALOGUE = [
  {
    ...{ name: 'order.created', group: 'Orders', description: 'A buyer placed an order.' },
    ...{ example: { id: 'order-17' }, schema: { type: 'object' }, queues: ['orders', 'stock.eu-1'] },
  },
  { name: 'order.placed', deprecated: true, queues: [] },
];

/** Each page with its address and a text that appears only when it has loaded. */
const pagesOf = ({ billing }: BusyConsole): [name: string, hash: string, loaded: string][] => [
  ['overview', '#/', '1 subscription is failing'],
  ['queue', '#/queues/orders', 'order-4711'],
  ['subscription', `#/queues/orders/subscriptions/${billing}`, 'Median'],
  ['delivery', `#/queues/orders/messages/order-4704/deliveries/${billing}`, 'upstream connect error'],
  ['message', '#/queues/orders/messages/order-4708', '12345678901234567890'],
  ['messages', '#/queues/orders/messages', 'order-4699'],
  ['deliveries', '#/queues/orders/deliveries', 'http 422'],
  ['designer', '#/designer?queue=orders', '1 h 42 min'],
  ['missing', '#/queues/orders/messages/order-1', 'was never accepted'],
  ['recovery', '#/queues/orders/recovery', '1 failed again'],
  ['books', '#/queues/orders/books', 'Balanced:'],
  ['dead letters', '#/dead-letters', 'unknown_queue'],
  ['filtered dead letters', '#/dead-letters?which=delivery&reason=not_json', 'None matches'],
  ['event types', '#/event-types', 'A buyer placed an order.'],
  ['event type', '#/event-types/order.created', 'A buyer placed an order.'],
  ['no event type', '#/event-types/order.crated', 'Not found'],
  ['choice', '#/books', 'stock.eu-1'],
  ['nowhere', '#/no/such/page', 'Page not found'],
];

inBrowser('the pages of the console', () => {
  const there = busyConsole();

  it.each(LOOKS)('are accessible and fit at $width px in both themes, loaded $theme', async (look) => {
    const { page, faults } = await openPage(there().browser, 'about:blank', look);
    // The pictures show a named deployment instead of the address of a test server.
    await page.route('**/api-local/info', async (route) => {
      const info: unknown = await (await route.fetch()).json();
      await route.fulfill({ json: { ...consoleInfoSchema.parse(info), deployment: 'Posthaste' } });
    });
    // Only a deployment has the SQS queues.
    await page.route(/\/api-local\/dead-letters/, (route) =>
      route.fulfill({
        json: LOOKS_AT[new URL(route.request().url()).pathname.split('/')[3] ?? ''] ?? COUNTS,
      }),
    );
    for (const type of CATALOGUE)
      await there().api.eventTypes.put({ ...type, createdAt: Date.now(), changedAt: Date.now() });
    await page.goto(there().url);
    for (const [name, hash, loaded] of pagesOf(there())) {
      await goTo(page, hash);
      await page.getByText(loaded, { exact: false }).first().waitFor();
      const violations = await axeViolationsInBothThemes(page, look.theme, async (theme) => {
        if (look.width === 1280 && PICTURED.has(`${name}-${theme}`))
          await picture(page, `console-${name}-${theme}`);
      });
      expect(violations, name).toEqual(NO_VIOLATIONS);
      expect(await isTooWide(page), name).toBe(false);
    }
    expect(faults).toEqual([]);
  });

  it('list the event types, and show one with its schema and example', async () => {
    for (const type of CATALOGUE)
      await there().api.eventTypes.put({ ...type, createdAt: Date.now(), changedAt: Date.now() });
    const page = await there().openAt('#/event-types');
    const old = page.getByRole('row', { name: /^order\.placed/ });
    expect(await old.innerText()).toMatch(/deprecated[^]*none yet/);
    await page.getByRole('link', { name: 'order.created' }).click();
    await page.getByText('orders, stock.eu-1').waitFor();
    await page.getByText('Example', { exact: true }).click();
    await page.getByText('"id": "order-17"').waitFor();
    await page.getByText('Schema', { exact: true }).click();
    await page.getByText('"type": "object"').waitFor();
  });

  it('are usable by keyboard: a skip link, and the focus on the heading of an opened page', async () => {
    const { page } = await there().open();
    await page.getByRole('link', { name: 'orders' }).waitFor();
    await page.getByRole('link', { name: 'Posthaste' }).focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement?.id')).toBe('content');
    await page.getByRole('link', { name: 'orders' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Queue orders' }).waitFor();
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('H1');
    expect(await page.title()).toBe('orders · Posthaste');
  });

  it('show times in the time zone of the browser, with UTC as the tooltip', async () => {
    const opened = await there().open();
    await goTo(opened.page, '#/queues/orders/messages');
    const time = opened.page.locator('time').first();
    const at = new Date((await time.getAttribute('datetime')) ?? '');
    const local = at.toLocaleTimeString('en-GB', { timeZone: 'Europe/Zurich' });
    expect(await time.textContent()).toContain(local);
    expect(await time.getAttribute('title')).toBe(at.toISOString().replace('T', ' ').replace('Z', ' UTC'));
  });

  it('say why a subscription is slowed, and why its delivery waits', async () => {
    const { api, warehouse } = there();
    const now = Date.now();
    const pressure = { state: 'held', since: now - 60_000, at: now } as const;
    await api.registry.changeSubscription({ queue: 'orders', subscriptionId: warehouse, now }, (current) => ({
      ...current,
      pressure,
    }));
    await record(api, {
      queue: 'orders',
      messageId: 'held',
      acceptedAt: now,
      deliveries: [
        {
          subscriptionId: warehouse,
          status: 'pending',
          next: { number: 1, phase: 'initial', dueAt: now + 3_600_000, by: 'scheduler' },
          slot: { at: now + 3_600_000, epoch: '', reason: 'circuit_open' },
        },
      ],
    });
    const page = await there().openAt(`#/queues/orders/subscriptions/${warehouse}`);
    await page.getByText('The circuit is open: the subscriber is down').waitFor();
    await page.getByText('1 delivery: 1 because the subscriber is or was down').waitFor();
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
    await goTo(page, '#/queues/orders/deliveries?status=pending');
    await page.getByText('waits because the subscriber is or was down').waitFor();
    await goTo(page, `#/queues/orders/messages/held/deliveries/${warehouse}`);
    await page.getByText('waits because the subscriber is or was down').waitFor();
    await page.getByText('circuit open', { exact: true }).waitFor();
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
  });

  it('show when a delivery was accepted, and what it waited for on the time axis and in words', async () => {
    const { api, warehouse } = there();
    const acceptedAt = Date.now() - 20 * 60_000;
    const dueAt = acceptedAt + 482_000;
    const waited = [
      { reason: 'rate_limited', ms: 180_000 },
      { reason: 'circuit_open', ms: 300_000 },
    ] as const;
    const next = { number: 2, phase: 'backoff', dueAt: Date.now() + 120_000, by: 'scheduler' } as const;
    await record(api, {
      ...{ queue: 'orders', messageId: 'waited', acceptedAt },
      deliveries: [
        {
          ...{ subscriptionId: warehouse, status: 'retrying' },
          attempts: [anAttempt({ waited, dueAt, startedAt: dueAt + 45_000 })],
          next: { ...next, waitingSince: Date.now() - 240_000 },
          slot: { at: next.dueAt, epoch: '', reason: 'receiver_throttled' },
        },
      ],
    });
    const page = await there().openAt(`#/queues/orders/messages/waited/deliveries/${warehouse}`);
    await page.getByText('Accepted', { exact: true }).waitFor();
    for (const wait of ['47 s (lag)', '3 min (rate limit)', '5 min (held)'])
      await page.getByText(`waited ${wait}`, { exact: true }).waitFor();
    await page
      .getByRole('img', { name: / Waited 47 s \(lag\), .*, 4 min( \d+ s)? \(throttled\)\. / })
      .waitFor();
    expect(await page.locator('[data-wait] title').allTextContents()).toEqual([
      'Attempt 1 waited 2 s (lag)',
      'Attempt 1 waited 3 min (rate limit)',
      'Attempt 1 waited 5 min (held)',
      'Attempt 1 waited 45 s (lag)',
      expect.stringMatching(/^Attempt 2 waited 4 min( \d+ s)? \(throttled\)$/),
    ]);
    await picture(page, 'console-waits-light');
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
  });

  it('say that a delivery waits for the end of a pause, in place of a time that is over', async () => {
    const { api, analytics } = there();
    const acceptedAt = Date.now() - 60_000;
    const next = { number: 1, phase: 'initial', dueAt: acceptedAt, by: 'subscription_pause' } as const;
    const waiting = { subscriptionId: analytics, status: 'pending', next, overdueAt: acceptedAt } as const;
    await record(api, { queue: 'orders', messageId: 'paused', acceptedAt, deliveries: [waiting] });
    const page = await there().openAt('#/queues/orders/deliveries?status=pending');
    const nextAttempt = page
      .getByRole('row', { name: /paused/ })
      .getByRole('cell')
      .last();
    await expect.poll(() => nextAttempt.textContent()).toBe('waits until after the pause');
    await goTo(page, '#/queues/orders/messages/paused');
    await page.getByText('It is sent in the order of acceptance: the pause is over.').waitFor();
    expect(await page.getByText('waits until after the pause').count()).toBe(0);
    await goTo(page, `#/queues/orders/messages/paused/deliveries/${analytics}`);
    await page.getByText(/The pause delays it\.$/).waitFor();
    const fact = page.locator('.fact', { hasText: 'Next attempt' }).locator('dd');
    expect((await fact.textContent())?.trim()).toBe('waits until after the pause');
  });

  it('say in the time of the browser when a subscription was created that a message missed', async () => {
    const { api } = there();
    const acceptedAt = Date.now() - 3_600_000;
    await record(api, { queue: 'orders', messageId: 'early', acceptedAt, deliveries: [] });
    const page = await there().openAt('#/queues/orders/messages/early');
    const created = page.getByText(/^It was created at /).first();
    expect(await created.textContent()).toMatch(/^It was created at \d\d:\d\d:\d\d, after /);
  });

  it('say how the event of a message does not fit the catalogue', async () => {
    const eventFaults: [messageId: string, eventFault: EventFault, text: string][] = [
      [
        'misfit',
        { reason: 'event_invalid', path: '/total', detail: 'must be integer' },
        '/total must be integer',
      ],
      ['unmade', { reason: 'event_invalid', path: '', detail: 'must be object' }, 'the data must be object'],
      ['unknown', { reason: 'unknown_event_type' }, 'not in the catalogue of the queue'],
    ];
    const page = await there().openAt('#/');
    const fact = page.locator('.fact', { hasText: 'Event fault' }).locator('dd');
    for (const [messageId, eventFault, text] of eventFaults) {
      const type = 'order.created';
      const message = { queue: 'orders', messageId, type, acceptedAt: Date.now(), deliveries: [] };
      await record(there().api, { ...message, eventFault });
      await goTo(page, `#/queues/orders/messages/${messageId}`);
      await expect.poll(() => fact.textContent()).toBe(text);
    }
    expect(await axeViolationsInBothThemes(page, 'light')).toEqual(NO_VIOLATIONS);
  });

  it('switch the theme, and remember it after a reload', async () => {
    const { page } = await there().open({ width: 1280, theme: 'light' });
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const light = await background();
    await page.getByLabel('Theme').selectOption('dark');
    expect(await background()).not.toBe(light);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await background()).not.toBe(light);
    await page.getByLabel('Theme').selectOption('light');
    expect(await background()).toBe(light);
  });

  it('show charts of the chosen window, each with its totals in words', async () => {
    const { page } = await there().open();
    const chart = page.getByRole('img', {
      name: /^Outcomes per minute, last hour\. In total: delivered [23],/,
    });
    await chart.waitFor();
    // The library loads with the first chart.
    await expect.poll(() => page.locator('.charts canvas').count()).toBe(5);
    await page.getByRole('button', { name: 'Last 7 days' }).click();
    await page.getByRole('img', { name: /^Time to delivery of the slowest queue, last 7 days\./ }).waitFor();
    await page
      .getByRole('img', { name: /^Messages per hour, last 7 days\. In total: accepted 1,/ })
      .waitFor();
    await goTo(page, '#/queues/stock.eu-1');
    await page.getByText('No message and no attempt in this time').waitFor();
  });

  it('do not shift their layout while they load', async () => {
    const opened = await there().open();
    const { page } = opened;
    await page.evaluate(`window.shift = 0; new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
    }).observe({ type: 'layout-shift', buffered: true })`);
    await page.getByText('1 subscription is failing').waitFor();
    // Up to 0.1 is good (Core Web Vitals, Cumulative Layout Shift).
    expect(await page.evaluate('window.shift')).toBeLessThan(0.1);
  });

  it('offer to enable a disabled subscription before a message is sent to it', async () => {
    const page = await there().openAt('#/queues/invoices/messages/invoice-9');
    await page.getByRole('link', { name: 'Enable it to send' }).click();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText('enabled', { exact: true }).waitFor();
    await goTo(page, '#/queues/invoices/messages/invoice-9');
    await page.getByRole('button', { name: 'Send to https://ledger.example.org/in' }).waitFor();
  });
});
