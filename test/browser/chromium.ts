import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { describe, it } from 'vitest';

/** The shell draws nothing on a screen, and takes half of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const folders = (process.env['PATH'] ?? '').split(delimiter);

const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);

const MISSING = 'no Chromium on this machine: apt-get install chromium-headless-shell';

/** A suite that needs a browser. Without one it is skipped with the reason; in CI, which installs it, it fails. */
export const inBrowser = (name: string, tests: () => void): void => {
  if (found !== undefined) describe(name, tests);
  else if (process.env['CI'] === undefined) describe.skip(`${name} (${MISSING})`, tests);
  else {
    describe(name, () => {
      it('finds a browser', () => {
        throw new Error(MISSING);
      });
    });
  }
};

/** The sandbox does not work as root; the other flags stop background traffic. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Launches Chromium with a fresh profile. */
export const launchChromium = (): Promise<Browser> => {
  if (found === undefined) throw new Error(MISSING);
  return chromium.launch({ executablePath: found, headless: true, args: FLAGS });
};
