import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { cachedAssembly, type Settings } from './assembly.ts';
import { localFolder, projectRoot } from './install/paths.mjs';
import { Problem } from './install/problem.mjs';
import { runGroup, tailOf } from './install/process-group.mjs';
import { step } from './install/progress.mjs';
import { awsEnvironment, localAws, plainEnvironment, type RootKeys } from './local-aws.ts';

export type Deployment = {
  endpoint: string;
  keys: RootKeys;
  settings: Settings;
  /** Folder for logs and outputs. */
  folder: string;
  signal: AbortSignal;
};

/** Stack outputs by name. Names are unique across all stacks. */
export type StackOutputs = Readonly<Record<string, string>>;

const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/**
 * Deploys all stacks with the CDK command, and returns their outputs.
 * @throws Problem with the end of the CDK's output if it fails
 */
export async function deploy(deployment: Deployment): Promise<StackOutputs> {
  const assembly = await synthAndBootstrap(deployment);
  const outputs = join(deployment.folder, 'outputs.json');
  rmSync(outputs, { force: true });
  const args = ['deploy', '--all', '-a', assembly, '--require-approval', 'never', '--outputs-file', outputs];
  await step('Deploying the stacks (cdk deploy --all)', () => cdk(deployment, 'deploy', args));
  const stacks = outputsSchema.parse(JSON.parse(readFileSync(outputs, 'utf8')));
  return Object.fromEntries(Object.values(stacks).flatMap((stack) => Object.entries(stack)));
}

/**
 * Synthesises and bootstraps in parallel. A failure stops the other, so that an invalid setting is reported at once.
 */
async function synthAndBootstrap(deployment: Deployment): Promise<string> {
  const failed = new AbortController();
  const together = { ...deployment, signal: AbortSignal.any([deployment.signal, failed.signal]) };
  const [assembly, account] = [synthesised(together), bootstrap(together)];
  try {
    await Promise.all([assembly, account]);
    return await assembly;
  } catch (error) {
    failed.abort();
    await Promise.allSettled([assembly, account]);
    throw error;
  }
}

function synthesised(deployment: Deployment): Promise<string> {
  return cachedAssembly(deployment.settings, (output) =>
    step('Synthesising the stacks (cdk synth)', () =>
      cdk(deployment, 'synth', ['synth', '-q', '-o', output, ...contextOf(deployment.settings)]),
    ),
  );
}

function bootstrap(deployment: Deployment): Promise<void> {
  return step('Preparing the account (cdk bootstrap)', () =>
    cdk(deployment, 'bootstrap', ['bootstrap', ACCOUNT], deployment.folder),
  );
}

const ACCOUNT = `aws://${localAws.account}/${localAws.region}`;

function contextOf(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
}

/** Runs the CDK in the project folder; elsewhere if the command must not run the app, which would lock `cdk.out`. */
async function cdk(
  { endpoint, keys, folder, signal }: Deployment,
  name: string,
  args: string[],
  cwd = projectRoot,
): Promise<void> {
  const log = join(folder, `cdk-${name}.log`);
  rmSync(log, { force: true });
  const env = { ...plainEnvironment(), ...awsEnvironment(endpoint, keys), ...QUIET_CDK, ...COMPILE_CACHE };
  const { code } = await runGroup('cdk', [...args, '--no-notices'], { env, cwd, log, signal });
  if (code !== 0) {
    throw new Problem(`cdk ${name} failed. The end of its output (full log: ${log}):\n${tailOf(log)}`);
  }
}

/** Keeps the CDK from calling anything but loopback. */
const QUIET_CDK = { CDK_DISABLE_VERSION_CHECK: '1', CDK_DISABLE_CLI_TELEMETRY: 'true', NO_COLOR: '1' };

/** The CDK command is started three times; the compile cache makes later starts faster. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(localFolder, 'compile-cache') };
