import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { localFolder, projectRoot } from '../local/install/paths.mjs';

/**
 * Runs a program, in the project folder by default, and returns what it prints.
 * @throws Error with all that it printed when it fails
 */
export function runProgram(
  program: string,
  args: readonly string[],
  where: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd: projectRoot, maxBuffer: Infinity, ...where };
    execFile(program, args, options, (cause, stdout, stderr) => {
      if (cause === null) resolve(stdout);
      else reject(new Error(`${program} ${args[0] ?? ''} failed:\n${stdout}${stderr}`, { cause }));
    });
  });
}

/** The package as a folder: the tree of the repository, compiled. */
export const staged = join(localFolder, 'package');

const packedSchema = z.object({
  filename: z.string().transform((name) => join(localFolder, name)),
  size: z.number(),
  files: z.array(z.object({ path: z.string(), size: z.number() })),
});

/** The tarball: its path, its size in bytes, and each file in it with its own. */
export type Packed = z.infer<typeof packedSchema>;

export async function pack(): Promise<Packed> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', localFolder];
  const [packed] = z.tuple([packedSchema]).parse(JSON.parse(await runProgram('npm', args, { cwd: staged })));
  return packed;
}

export function jsonIn(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
