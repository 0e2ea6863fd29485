#!/usr/bin/env node
// Plain JavaScript: the machine's Node may be too old for TypeScript. In that case the project's Node runs the command.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { compileCache, isPackaged, programFile, projectNode } from '../local/install/paths.mjs';

/** Compiled, the command needs JSON modules without a warning. */
const OLDEST = isPackaged ? '22.12' : '24.0';

const command = programFile('cli/posthaste.ts');

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

const isRecent = process.versions.node.localeCompare(OLDEST, 'en', { numeric: true }) >= 0;

const userCache = () => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'posthaste');

if (isRecent) {
  // Parsing is half of the start time. If the folder is not writable, the start is only slower.
  module.enableCompileCache(isPackaged ? userCache() : compileCache);
  await import(command);
} else if (!isPackaged && existsSync(projectNode)) runOnProjectNode();
else {
  const advice = isPackaged
    ? 'Install a current version from https://nodejs.org.'
    : 'Run npm ci in the project folder: it installs Node 24.';
  process.stderr.write(
    `posthaste: Node ${OLDEST} or newer is required, and this is ${process.versions.node}. ${advice}\n`,
  );
  process.exitCode = 1;
}
