import axe from 'axe-core';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { projectRoot } from '../../local/install/paths.mjs';

type Theme = 'light' | 'dark';

export type Look = { width: 375 | 1280; theme: Theme };

/** The window widths to test. Each is checked in both themes and loads in the given one. */
export const LOOKS: readonly Look[] = [
  { width: 1280, theme: 'light' },
  { width: 375, theme: 'dark' },
];

const HEIGHT = { 375: 812, 1280: 800 } as const;

/** Opens a page in a new browser context, without state from other tests, until the end of the test. */
export const openPage = async (
  browser: Browser,
  url: string,
  { width, theme, ...more }: Look & BrowserContextOptions = { width: 1280, theme: 'light' },
) => {
  const context = await browser.newContext({
    viewport: { width, height: HEIGHT[width] },
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
    ...more,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  /** Errors in the page, including violations of its Content-Security-Policy. */
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // Chromium logs this for every response of 400 and above, which a page may expect.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(message.text());
    }
  });
  await page.goto(url);
  return { page, faults };
};

/** Changes the route without reloading the page, as a link does. `hash` includes the `#`. */
export const goTo = async (page: Page, hash: string): Promise<void> => {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
};

const axeResults = z.object({
  violations: z.array(
    z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

/** The axe violations of the current page: WCAG 2.2 A and AA and best practices, or only the given `rules`. */
export const axeViolations = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  // evaluate() uses the debugger, which the Content-Security-Policy does not restrict.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${axe.source}; undefined`);
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) };
  const results: unknown = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  return axeResults
    .parse(results)
    .violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
};

/**
 * The axe violations in each theme. A theme changes only colours, so the second theme is checked for contrast only.
 * @param shown is called in each theme
 */
export const axeViolationsInBothThemes = async (
  page: Page,
  loaded: Theme,
  shown: (theme: Theme) => Promise<void> = () => Promise.resolve(),
): Promise<Record<Theme, string[]>> => {
  const found = { light: [] as string[], dark: [] as string[] };
  const other = loaded === 'light' ? 'dark' : 'light';
  for (const theme of [loaded, other] as const) {
    await page.emulateMedia({ colorScheme: theme });
    found[theme] = await axeViolations(page, theme === loaded ? undefined : ['color-contrast']);
    await shown(theme);
  }
  return found;
};

export const NO_VIOLATIONS: Readonly<Record<Theme, string[]>> = { light: [], dark: [] };

/** Whether the page is wider than its window and scrolls sideways. */
export const isTooWide = async (page: Page): Promise<boolean> =>
  z.boolean().parse(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'));

/** Takes a picture for the documentation, only if `POSTHASTE_PICTURES=1`. */
export const picture = async (
  page: Page,
  name: string,
  options: { fullPage?: boolean } = {},
): Promise<void> => {
  if (process.env['POSTHASTE_PICTURES'] !== '1') return;
  await page.screenshot({
    path: join(projectRoot, 'docs/images', `${name}.png`),
    animations: 'disabled',
    ...options,
  });
};
