import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mock } from 'node:test';
import { findDeployment } from '../../cli/deployment.ts';
import { Problem } from '../../local/install/problem.mjs';
import { showPresence } from '../../local/presence.ts';
import { localEndpoints } from '../support/local-endpoints.ts';
import { nearlyJson } from './input.ts';
import { target, type Target } from './target.ts';

/** The file of a start that runs, changed in a few places. What cannot be used is reported as a problem. */
export const endpointFiles: Target = {
  name: 'endpoint files',
  weight: 1,
  run: async (options) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'fuzz-'));
    const file = path.join(folder, 'endpoints.json');
    const { socket, end } = await showPresence();
    // It says which file it removed.
    const said = mock.method(console, 'error', () => undefined);
    const input = nearlyJson([{ ...localEndpoints, socket }]);
    try {
      return await target(endpointFiles.name, input, async (given) => {
        // A file cannot hold half of a surrogate pair.
        const text = Buffer.from(given).toString();
        writeFileSync(file, text, { mode: 0o600 });
        try {
          const { client } = await findDeployment({ local: true }, file);
          assert.equal(client.endpoint, (JSON.parse(text) as { endpoint: string }).endpoint);
          return true;
        } catch (error) {
          assert(error instanceof Problem, String(error));
          return false;
        }
      }).run(options);
    } finally {
      said.mock.restore();
      end();
      rmSync(folder, { recursive: true });
    }
  },
};
