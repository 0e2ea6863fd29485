import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { deploy } from '../../local/local-system.ts';
import { onDeployment } from '../support/deployed-command.ts';
import { deployment } from '../support/deployment.ts';

/** As long as a deployment, and a wait for the visibility timeout, may take here. */
const PATIENCE_MS = 240_000;

const acceptCrash = () => onDeployment('accept', '--only', 'crash');

const deployCrash = async (): Promise<void> => {
  const folder = join(inject('folder'), 'crash');
  mkdirSync(folder);
  await deploy({
    emulator: { endpoint: deployment.endpoints.endpoint, keys: deployment.endpoints },
    app: 'node infra/acceptance-app.ts',
    context: { crash: 'true' },
    folder,
    signal: new AbortController().signal,
  });
};

const hideJobsFor = async (seconds: number): Promise<void> => {
  const { QueueUrls: urls = [] } = await deployment.sqs.listQueues({ QueueNamePrefix: 'PosthasteCrash-' });
  const QueueUrl = urls.find((url) => url.includes('PipelineDeliveryQueue'));
  const Attributes = { VisibilityTimeout: String(seconds) };
  await deployment.sqs.setQueueAttributes({ QueueUrl, Attributes });
};

describe('the check of accept that kills deliver', () => {
  it('names the command that deploys a pipeline for it, if there is none', async () => {
    const { status, stdout } = await acceptCrash();
    expect(status).toBe(0);
    expect(stdout).toMatch(/^not shown here {2}crash .*\n.*cdk deploy PosthasteCrash .* -c crash=true/);
  });

  it(
    'passes on that pipeline, and removes what it made',
    async () => {
      await deployCrash();
      const { status, stdout, stderr } = await acceptCrash();
      process.stdout.write(stdout);
      expect(stdout).toMatch(/^passed .*\n.*all 12 delivered, [1-9]\d* of them by a second request/);
      expect(status).toBe(0);
      expect(stderr).toContain('Everything that this run made is removed');
    },
    PATIENCE_MS,
  );

  it(
    'fails if what was held comes back after more than a minute',
    async () => {
      await hideJobsFor(75);
      const { status, stdout } = await acceptCrash();
      expect(stdout).toMatch(/^FAILED .*\n.*the last request came [78]\d\.\d s after the first/);
      expect(status).toBe(1);
    },
    PATIENCE_MS,
  );
});
