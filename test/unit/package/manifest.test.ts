import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { collectLicences } from '../../../package/licences.ts';
import { packageManifest } from '../../../package/manifest.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const manifestSchema = z.object({
  exports: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
});

let root = '';

beforeEach(() => {
  root = temporaryFolder();
  write('package.json', {
    name: 'posthaste',
    version: '1.2.3',
    description: 'Webhooks',
    license: 'Apache-2.0',
    type: 'module',
    exports: { './client': './client/index.ts' },
    bin: { posthaste: 'cli/posthaste.mjs' },
    dependencies: { '@smithy/core': '3.41.0', zod: '4.6.7', esbuild: '0.28.2' },
  });
  write('package/manifest.json', { peerDependencies: { constructs: '^10.0.0' } });
  write('built/infra/index.js', "import { Construct } from 'constructs';");
});

function write(file: string, content: unknown): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), typeof content === 'string' ? content : JSON.stringify(content));
}

function manifest() {
  return manifestSchema.parse(JSON.parse(packageManifest(root, join(root, 'built'))));
}

describe('the package.json of the package', () => {
  it('depends on what the compiled files import, however they import it, and on nothing else', () => {
    write('built/cli/run.mjs', "import 'node:fs'; import './other.js'; await import('@smithy/core/retry');");
    write('built/shared/rule.d.ts', "export declare const rule: import('zod').ZodString;");
    expect(manifest().dependencies).toEqual({ '@smithy/core': '^3.41.0', zod: '^4.6.7' });
  });

  it('names the compiled entry points, and itself for the tools that read it', () => {
    const itself = { './package.json': './package.json' };
    expect(manifest().exports).toEqual({ './client': './client/index.js', ...itself });
  });

  it('refuses an import of a package that is not among the dependencies, and names the file', () => {
    write('built/cli/run.js', "import 'vitest';");
    expect(manifest).toThrow('cli/run.js imports vitest, which is no dependency.');
  });

  it('refuses a peer that no compiled file imports', () => {
    write('built/infra/index.js', '');
    expect(manifest).toThrow('No compiled file imports the peer constructs.');
  });
});

it.each(['LICENSE', 'license', 'Licence.md'])(
  'the text of a licence is found in a file %s, with a notice, once for the packages that share it',
  (file) => {
    for (const name of ['one', '@scope/two']) {
      write(`node_modules/${name}/package.json`, { name, version: '1.0.0', license: 'MIT' });
      write(`node_modules/${name}/${file}`, 'Copyright One\n');
      write(`node_modules/${name}/notice`, 'By Us\n');
    }
    const bundled = ['node_modules/one/index.js', 'node_modules/@scope/two/index.js'];
    expect(collectLicences(root, bundled)).toContain(
      '@scope/two 1.0.0 (MIT)\none 1.0.0 (MIT)\n\nCopyright One\n\nBy Us\n',
    );
  },
);
