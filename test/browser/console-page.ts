import axe from 'axe-core';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import * as z from 'zod';
import { projectRoot } from '../../local/install/paths.mjs';

type Theme = 'light' | 'dark';

export type Look = { width: 375 | 1280; theme: Theme };

/** The widths that the console is made for. Each is looked at in both themes, and loaded in one. */
export const LOOKS: readonly Look[] = [
  { width: 1280, theme: 'light' },
  { width: 375, theme: 'dark' },
];

export type OpenedPage = {
  page: Page;
  /** What went wrong in the page and what its policy refused: there is to be nothing. */
  faults: string[];
  close: () => Promise<void>;
};

const HEIGHT = { 375: 812, 1280: 800 } as const;

/** A tab of its own session, so that nothing is left of another. */
export const openPage = async (
  browser: Browser,
  url: string,
  { width, theme, ...more }: Look & BrowserContextOptions = { width: 1280, theme: 'light' },
): Promise<OpenedPage> => {
  const context = await browser.newContext({
    viewport: { width, height: HEIGHT[width] },
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
    ...more,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // A browser says so of every answer over 399, which a page may expect.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(message.text());
    }
  });
  await page.goto(url);
  return { page, faults, close: () => context.close() };
};

/** As a link of the page does: it is not loaded again. `hash`: with its `#`. */
export const goTo = async (page: Page, hash: string): Promise<void> => {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
};

const axeResults = z.object({
  violations: z.array(
    z.object({ id: z.string(), help: z.string(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

/** What of WCAG 2.2 A and AA, and of good practice, axe finds wrong in the page as it is now; by these rules alone, if any are given. */
export const axeViolations = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  // By the debugger, which the page's policy does not bind.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(`${axe.source}; undefined`);
  const options = { resultTypes: ['violations'], ...(rules !== undefined && { runOnly: rules }) };
  const results: unknown = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  return axeResults
    .parse(results)
    .violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
};

/**
 * The same in both themes, by name. A theme changes colours and nothing else, so that in the second one the contrast alone is
 * checked.
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

/** Whether the page is wider than its window, so that it has to be moved sideways. */
export const isTooWide = async (page: Page): Promise<boolean> =>
  z.boolean().parse(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'));

/** Takes a picture for the documentation, when asked to: `POSTHASTE_PICTURES=1`. Tests change no files otherwise. */
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
