import { describe, expect, it } from 'vitest';
import { plainEnvironment } from '../../../local/local-aws.ts';
import { completeEnvironment } from '../../support/complete-environment.ts';
import { posthaste } from './run-command.ts';
import { STACKS, stubbedDeployment } from './stubbed-deployment.ts';

describe('posthaste worker', () => {
  it('prints the environment of a deployment as lines that containers and systemd read', async () => {
    const WorkerEnvironment = JSON.stringify({
      AWS_REGION: 'eu-central-1',
      DELIVERY_QUEUE_URL: 'https://sqs/delivery',
      DEFAULT_RETRY_POLICY: '{"minimum_delay":5}',
    });
    const PosthastePipeline = { ...STACKS['PosthastePipeline'], WorkerEnvironment };
    const { run } = await stubbedDeployment({ stacks: { ...STACKS, PosthastePipeline } });
    expect(await run('worker --print-env')).toMatchObject({
      status: 0,
      stdout:
        'AWS_REGION=eu-central-1\nDEFAULT_RETRY_POLICY={"minimum_delay":5}\nDELIVERY_QUEUE_URL=https://sqs/delivery\n',
    });
  });

  it('prints no other variable of a process that has the environment already', async () => {
    const env = { ...plainEnvironment(), ...completeEnvironment, AWS_SECRET_ACCESS_KEY: 'secret' };
    const { stdout } = await posthaste('worker --print-env', { env });
    expect(stdout).toContain('\nDELIVERY_QUEUE_URL=');
    expect(stdout).not.toContain('secret\n');
  });

  it('does not start with an incomplete environment, and names every variable that is wrong', async () => {
    const { DELIVERY_QUEUE_URL: _, ...rest } = completeEnvironment;
    const env = { ...plainEnvironment(), ...rest, RETENTION_DAYS: 'many' };
    const { status, stderr } = await posthaste('worker --steps deliver', { env });
    expect(status).toBe(2);
    expect(stderr).toContain('DELIVERY_QUEUE_URL is missing');
    expect(stderr).toContain('RETENTION_DAYS must be a whole number of days');
    expect(stderr).toContain('worker --print-env');
  });

  it.each([
    ['of an earlier version', 'Posthaste', /has no output WorkerEnvironment.*deploy this version first/s],
    ['that is missing', 'Nowhere', /Nowhere/],
  ])('does not start on a deployment %s, and says what to do', async (_, deployment, sentence) => {
    const { environment: env } = await stubbedDeployment();
    const { status, stderr } = await posthaste(`worker --deployment ${deployment}`, { env });
    expect(status).toBe(2);
    expect(stderr).toMatch(sentence);
  });
});
