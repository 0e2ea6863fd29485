import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { licencesOf } from '../../../package/licences.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it.each(['LICENSE', 'license', 'Licence.md'])('the text of a licence is found in a file %s', (file) => {
  const root = temporaryFolder();
  const folder = join(root, 'node_modules/one');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name": "one", "version": "1.0.0", "license": "MIT"}');
  writeFileSync(join(folder, file), 'Copyright One\n');
  expect(licencesOf(root, ['node_modules/one/index.js'])).toContain('one 1.0.0 (MIT)\n\nCopyright One\n');
});
