import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { startEmulator } from '../../local/emulator.ts';
import { toClientOptions } from '../../local/endpoints.ts';
import { localAws } from '../../local/local-aws.ts';

/** A local AWS separate from the deployed system's, which a test file may empty or stop. */
export async function startSeparateLocalAws(name: string) {
  const folder = join(inject('folder'), name);
  mkdirSync(folder, { recursive: true });
  const { endpoint, keys, stop } = await startEmulator({ folder, signal: new AbortController().signal });
  return { endpoint, keys, client: toClientOptions({ endpoint, region: localAws.region, ...keys }), stop };
}

export type SeparateLocalAws = Awaited<ReturnType<typeof startSeparateLocalAws>>;
