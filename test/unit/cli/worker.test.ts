import { describe, expect, it } from 'vitest';
import { plainEnvironment } from '../../../local/local-aws.ts';
import { completeEnvironment } from '../../support/complete-environment.ts';
import { posthaste } from './run-command.ts';
import { stubbedDeployment } from './stubbed-deployment.ts';

/** Runs the command on a deployment in AWS with this output. */
const onDeployment = async (args: readonly string[], WorkerEnvironment?: string) => {
  const stub = await stubbedDeployment({
    bodies: [],
    sentAt: 0,
    ...(WorkerEnvironment !== undefined && {
      stacks: (known) => ({
        ...known,
        PosthastePipeline: { ...known['PosthastePipeline'], WorkerEnvironment },
      }),
    }),
  });
  return posthaste(['worker', '--deployment', 'Posthaste', ...args], { env: stub.environment });
};

describe('posthaste worker', () => {
  it('prints the environment of a deployment as lines that containers and systemd read', async () => {
    const output = JSON.stringify({
      AWS_REGION: 'eu-central-1',
      DELIVERY_QUEUE_URL: 'https://sqs/delivery',
      DEFAULT_RETRY_POLICY: '{"minimum_delay":5}',
    });
    expect(await onDeployment(['--print-env'], output)).toMatchObject({
      status: 0,
      stdout:
        'AWS_REGION=eu-central-1\nDEFAULT_RETRY_POLICY={"minimum_delay":5}\nDELIVERY_QUEUE_URL=https://sqs/delivery\n',
    });
  });

  it('prints no other variable of a process that has the environment already', async () => {
    const env = { ...plainEnvironment(), ...completeEnvironment, AWS_SECRET_ACCESS_KEY: 'secret' };
    const { stdout } = await posthaste(['worker', '--print-env'], { env });
    expect(stdout).toContain('\nDELIVERY_QUEUE_URL=');
    expect(stdout).not.toContain('secret\n');
  });

  it('does not start on a deployment of an earlier version, and says what to do', async () => {
    const { status, stderr } = await onDeployment([]);
    expect(status).toBe(2);
    expect(stderr).toContain('has no output WorkerEnvironment');
    expect(stderr).toContain('deploy this version first');
  });

  it('does not start with an incomplete environment, and names every variable that is wrong', async () => {
    const { DELIVERY_QUEUE_URL: _, ...rest } = completeEnvironment;
    const env = { ...plainEnvironment(), ...rest, RETENTION_DAYS: 'many' };
    const { status, stderr } = await posthaste(['worker', '--steps', 'deliver'], { env });
    expect(status).toBe(2);
    expect(stderr).toContain('DELIVERY_QUEUE_URL is missing');
    expect(stderr).toContain('RETENTION_DAYS must be a whole number of days');
    expect(stderr).toContain('worker --print-env');
  });

  it('does not start without a deployment', async () => {
    const stub = await stubbedDeployment({ bodies: [], sentAt: 0 });
    const { status, stderr } = await posthaste(['worker', '--deployment', 'Nowhere'], {
      env: stub.environment,
    });
    expect(status).toBe(2);
    expect(stderr).toContain('Nowhere');
  });
});
