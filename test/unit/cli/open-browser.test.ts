import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { openBrowser } from '../../../cli/commands/console/open-browser.ts';

const URL_WITH_TOKEN = 'http://127.0.0.1:8900/#token=a-token';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'browser-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A program that stands for a browser: it records its arguments and exits with the given status. */
const browser = (status: number): { program: string; args: string[]; given: () => string[] } => {
  const script = join(folder, `browser-${status}.mjs`);
  const note = `${script}.json`;
  writeFileSync(
    script,
    `import { writeFileSync } from 'node:fs';
     writeFileSync(${JSON.stringify(note)}, JSON.stringify(process.argv.slice(2)));
     process.exit(${status});`,
  );
  const given = (): string[] => z.array(z.string()).parse(JSON.parse(readFileSync(note, 'utf8')));
  return { program: process.execPath, args: [script], given };
};

describe('opening the console in the default browser', () => {
  it('passes the address in a private file, because other users can see the arguments of programs', async () => {
    const { given, ...opener } = browser(0);
    const opening = openBrowser(URL_WITH_TOKEN, opener);
    expect(await opening.failed).toBeUndefined();
    const [address = '', ...more] = given();
    expect(more).toEqual([]);
    expect(address).not.toContain('a-token');
    const file = fileURLToPath(address);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(`content="0;url=${URL_WITH_TOKEN}"`);
    opening.cleanUp();
    expect(existsSync(file)).toBe(false);
  });

  it('reports the reason if the browser is missing or fails', async () => {
    const { program, args } = browser(3);
    const refusing = openBrowser(URL_WITH_TOKEN, { program, args });
    expect(await refusing.failed).toBe(`${program} exited with status 3`);
    refusing.cleanUp();
    const missing = openBrowser(URL_WITH_TOKEN, { program: join(folder, 'no-such-program'), args: [] });
    expect(await missing.failed).toContain('ENOENT');
    missing.cleanUp();
  });
});
