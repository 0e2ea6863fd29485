import { expect, it } from 'vitest';
import { json, startStubApi } from '../unit/cli/stub-api.ts';
import { inBrowser } from './chromium.ts';
import {
  axeViolations,
  axeViolationsInBothThemes,
  isTooWide,
  LOOKS,
  NO_VIOLATIONS,
  openPage,
} from './console-page.ts';
import { runningConsole } from './running-console.ts';

inBrowser('the console in a browser', () => {
  const there = runningConsole(async () => {
    const api = await startStubApi({
      'GET /v2/openapi.json': () => json({ info: { version: '0.1.0' } }),
      'GET /v2/queues': () => json({ queues: [], links: [] }),
      'GET /v2/health': () => json({ status: 'ok', checks: {}, queues: {}, overdue: 0 }),
    });
    return { api };
  });

  it.each(LOOKS)(
    'shows an empty deployment at $width px in both themes, loaded $theme, without errors',
    async (look) => {
      const { page, faults } = await there().open(look);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await axeViolationsInBothThemes(page, look.theme)).toEqual(NO_VIOLATIONS);
      expect(await isTooWide(page)).toBe(false);
      expect(faults).toEqual([]);
    },
  );

  it('fails the axe check when it has an unlabelled field', async () => {
    const { page } = await there().open();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.evaluate(`document.querySelector('main').append(document.createElement('input'))`);
    expect(await axeViolations(page)).toEqual([expect.stringContaining('label: ')]);
  });

  it('removes the session token from the address, and still works after a reload', async () => {
    const { page, faults } = await there().open();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(page.url()).not.toContain('token');
    const answered = page.waitForResponse((response) => response.url().endsWith('/api-local/info'));
    await page.reload();
    expect((await answered).status()).toBe(200);
    expect(faults).toEqual([]);
  });

  it('hands its session to a new tab of the same browser, and to no other browser', async () => {
    const { page } = await there().open();
    await page.getByRole('heading', { level: 1 }).waitFor();
    const link = `${new URL(there().url).origin}/#/books`;
    const pasted = await page.context().newPage();
    await pasted.goto(link);
    await pasted.getByText('No queues yet').waitFor();
    expect(await pasted.evaluate('JSON.stringify(localStorage)')).toBe('{}');
    const other = await openPage(there().browser, link);
    await other.page.getByText('Open the address that the command printed').first().waitFor();
  });

  it('follows an address that changes right after the first paint', async () => {
    const { page } = await openPage(there().browser, 'about:blank');
    await page.addInitScript(`
      const seen = new MutationObserver(() => {
        if (document.querySelector('#root > *') === null) return;
        seen.disconnect();
        location.hash = '#/books';
      });
      seen.observe(document, { childList: true, subtree: true });
    `);
    await page.goto(there().url);
    await page.getByRole('heading', { level: 1, name: 'Reconciliation' }).waitFor();
  });

  it('paints before the deployment answers', async () => {
    const { page } = await openPage(there().browser, 'about:blank');
    // These requests get no answer.
    await page.route('**/{api,api-local}/**', () => undefined);
    await page.goto(there().url);
    await page.getByRole('heading', { level: 1 }).waitFor();
  });

  it('refuses requests, scripts and frames from a page on another port', async () => {
    const { page } = await openPage(there().browser, `${there().api.url}/elsewhere`);
    const { origin } = new URL(there().url);
    // A no-cors POST is sent without a preflight request.
    const posted = `fetch('${origin}/api/v2/queues/q/messages', { method: 'POST', mode: 'no-cors', body: '{}' })`;
    expect(await page.evaluate(`${posted}.then(() => 'answered', () => 'refused')`)).toBe('refused');
    expect(there().api.requests.map(({ method }) => method)).not.toContain('POST');

    const [, script = ''] = /<script[^>]* src="([^"]+)"/.exec(await (await fetch(origin)).text()) ?? [];
    const embedded = `new Promise((resolve) => {
      const script = document.createElement('script');
      script.type = 'text/javascript';
      script.onload = () => resolve('run');
      script.onerror = () => resolve('refused');
      script.src = '${origin}${script}';
      document.documentElement.append(script);
    })`;
    expect(await page.evaluate(embedded)).toBe('refused');

    const loaded = `new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = resolve;
      frame.src = '${origin}/';
      document.documentElement.append(frame);
    }).then(() => undefined)`;
    await page.evaluate(loaded);
    expect(page.frames().map((frame) => frame.url())).toEqual([
      `${there().api.url}/elsewhere`,
      expect.stringMatching(/^chrome-error:/),
    ]);
  });
});
