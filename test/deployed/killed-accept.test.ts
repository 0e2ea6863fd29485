import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { deploy } from '../../local/local-system.ts';
import { onDeployment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';

/** As long as a deployment, and a wait for the visibility timeout, may take here. */
const PATIENCE_MS = 240_000;

const acceptCrash = () => onDeployment('accept', '--only', 'crash');

describe('the check of accept that kills deliver', () => {
  it('names the command that deploys a pipeline for it, if there is none', async () => {
    const { status, stdout } = await acceptCrash();
    expect(status).toBe(0);
    expect(stdout).toMatch(/^not shown here {2}crash .*\n.*cdk deploy PosthasteCrash .* -c crash=true/);
  });

  it(
    'passes on that pipeline, and leaves no queue there',
    async () => {
      const folder = join(inject('folder'), 'crash');
      mkdirSync(folder);
      await deploy({
        emulator: { endpoint: deployment.endpoints.endpoint, keys: deployment.endpoints },
        app: 'node infra/acceptance-app.ts',
        context: { crash: 'true' },
        folder,
        signal: new AbortController().signal,
      });
      const { status, stdout, stderr } = await acceptCrash();
      process.stdout.write(stdout);
      expect(stdout).toMatch(/^passed .*\n.*all 12 delivered, [1-9]\d* of them by a second request/);
      expect(status).toBe(0);
      expect(stderr).toContain('Everything that this run made is removed');
    },
    PATIENCE_MS,
  );
});
