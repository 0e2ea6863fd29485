import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import ts from 'typescript';
import { z } from 'zod';
import { jsonIn } from './run-program.ts';

const versions = z.record(z.string(), z.string());

const repositoryManifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  type: z.string(),
  homepage: z.string().exactOptional(),
  repository: z.unknown().exactOptional(),
  exports: versions,
  bin: versions,
  dependencies: versions,
});

const publishedManifest = z.looseObject({ peerDependencies: versions });

/**
 * The package.json of the package: what package/manifest.json says, and as dependencies the packages that the compiled
 * files import, in the versions of the repository or later compatible ones.
 * @throws TypeError for an import that is no dependency of the repository, and for a peer that no file imports
 */
export function packageManifest(root: string, staged: string): string {
  const parsed = repositoryManifest.parse(jsonIn(join(root, 'package.json')));
  const { dependencies: known, exports, ...own } = parsed;
  const published = publishedManifest.parse(jsonIn(join(root, 'package/manifest.json')));
  const imported = importedPackages(staged);
  for (const peer of Object.keys(published.peerDependencies))
    if (!imported.delete(peer)) throw new TypeError(`No compiled file imports the peer ${peer}.`);
  const dependencies = [...imported].toSorted().map(([name, file]): [string, string] => {
    const version = known[name];
    if (version === undefined) throw new TypeError(`${file} imports ${name}, which is no dependency.`);
    return [name, `^${version}`];
  });
  const compiled = Object.entries(exports).map(
    ([name, file]) => [name, file.replace(/\.ts$/, '.js')] as const,
  );
  const manifest = {
    ...own,
    exports: { ...Object.fromEntries(compiled), './package.json': './package.json' },
    ...published,
    dependencies: Object.fromEntries(dependencies),
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

/** Each package that a compiled file or a declaration imports, with one of the files that do. */
function importedPackages(folder: string): Map<string, string> {
  const packages = new Map<string, string>();
  const compiled = '{infra,api-client,client,shared,functions,worker,cli,local}/**/*.{js,mjs,d.ts}';
  for (const file of globSync(compiled, { cwd: folder })) {
    const { importedFiles } = ts.preProcessFile(readFileSync(join(folder, file), 'utf8'), true, true);
    for (const { fileName } of importedFiles)
      if (!fileName.startsWith('.') && !isBuiltin(fileName)) packages.set(parsePackageName(fileName), file);
  }
  return packages;
}

/** `@scope/name` of `@scope/name/some/path`. */
function parsePackageName(specifier: string): string {
  return specifier.replace(/^((?:@[^/]+\/)?[^/]+).*$/, '$1');
}
