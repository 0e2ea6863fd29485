import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { builtPortal } from '../../browser/portal-build.ts';

it('The page of the portal has less than 150 kB, compressed', { timeout: 60_000 }, async () => {
  const folder = await builtPortal();
  const files = globSync('**/*.*', { cwd: folder });
  expect(files).toContain('index.html');
  const sizes = files.map((file) => gzipSync(readFileSync(join(folder, file))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});
