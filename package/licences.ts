import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { jsonIn } from './run-program.ts';

const manifestSchema = z.object({ name: z.string(), version: z.string(), license: z.string() });

/**
 * The licences of the packages that these files belong to. Packages with the same text share it.
 * @throws TypeError for a package without a licence
 */
export function collectLicences(root: string, files: readonly string[]): string {
  const packagesByText = new Map<string, string[]>();
  for (const folder of packageFolders(root, files)) {
    const { name, version, license } = manifestSchema.parse(jsonIn(join(folder, 'package.json')));
    const text = licenceText(folder) ?? `Its package has no text of the licence.`;
    packagesByText.set(text, [...(packagesByText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  const parts = [...packagesByText].map(([text, packages]) => `${packages.join('\n')}\n\n${text}\n`);
  return ['The folder assets/ contains code of these packages.\n', ...parts].join(`\n${'-'.repeat(80)}\n\n`);
}

function packageFolders(root: string, files: readonly string[]): string[] {
  const folders = files.flatMap((file) => {
    const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(resolve(root, file)) ?? [];
    return folder === undefined ? [] : [folder];
  });
  return [...new Set(folders)].toSorted();
}

function licenceText(folder: string): string | undefined {
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)\b/i.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('\r', '').trim());
  return texts.length === 0 ? undefined : texts.join('\n\n');
}
