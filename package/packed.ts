import { join } from 'node:path';
import { z } from 'zod';
import { localFolder } from '../local/install/paths.mjs';
import { runProgram } from './run-program.ts';

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
