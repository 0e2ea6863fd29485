#!/usr/bin/env node
// Plain JavaScript: the machine's Node may be too old for TypeScript. In that case the project's Node runs the command.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { localFolder, projectNode } from '../local/install/paths.mjs';

const OLDEST = 24;

const command = fileURLToPath(new URL('posthaste.ts', import.meta.url));

const runOnProjectNode = () => {
  const child = spawn(projectNode, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal sends Ctrl-C to both processes. This one waits for the command, which shuts down by itself.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.once('exit', (status) => {
    process.exitCode = status ?? 1;
  });
};

if (Number(process.versions.node.split('.')[0]) >= OLDEST) {
  // Parsing TypeScript is half of the start time. If the folder is not writable, the start is only slower.
  module.enableCompileCache(join(localFolder, 'compile-cache'));
  await import(command);
} else if (existsSync(projectNode)) runOnProjectNode();
else {
  process.stderr.write(
    `posthaste: Node ${OLDEST} or newer is required, and this is ${process.versions.node}. ` +
      `Run npm ci in the project folder: it installs Node ${OLDEST}.\n`,
  );
  process.exitCode = 1;
}
