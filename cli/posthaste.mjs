#!/usr/bin/env node
// Plain JavaScript, because a Node older than ours may be the one that reads it: then the project's own takes over.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localFolder, projectNode } from '../local/install/paths.mjs';

const OLDEST = 24;

const command = fileURLToPath(new URL('posthaste.ts', import.meta.url));

const handOver = () => {
  const child = spawn(projectNode, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal sends Ctrl-C to both; the command ends in its own way, and we end with it.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.once('exit', (status) => {
    process.exitCode = status ?? 1;
  });
};

if (Number(process.versions.node.split('.')[0]) >= OLDEST) {
  // Half of what a start takes is reading TypeScript. Without a folder to write to it only takes longer.
  module.enableCompileCache(join(localFolder, 'compile-cache'));
  await import(command);
} else if (existsSync(projectNode)) handOver();
else {
  process.stderr.write(
    `posthaste: it needs Node ${OLDEST}. Run npm ci in its folder, which brings one along.\n`,
  );
  process.exitCode = 1;
}
