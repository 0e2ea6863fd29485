import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { cachedBuild, fingerprint, type Settings } from './cached-builds.ts';
import { shellWord } from './command-name.ts';
import { type Outputs, outputsOfApp, type Endpoints, buildEndpoints } from './endpoints.ts';
import { type Emulator, type EmulatorOptions, startEmulator } from './emulator.ts';
import { CDK_MISSING, cdkLibraryOptions, cdkProgram } from './install/npm.mjs';
import { compileCache, localFolder, programFile, projectNode, projectRoot } from './install/paths.mjs';
import { Problem } from './install/problem.mjs';
import { runToSuccess } from './install/process-group.mjs';
import { step } from './install/progress.mjs';
import { awsEnvironment, environmentWithoutAws, localAws, plainEnvironment } from './local-aws.ts';

type LocalSystemOptions = EmulatorOptions & {
  /** Settings in addition to `local`, which is always set. */
  settings: Settings;
  /** Command of a CDK app in the current folder, deployed in place of the built-in one. */
  app?: string | undefined;
};

/** The real stacks, deployed by the real CDK on a separate local AWS. */
export type LocalSystem = { endpoints: Endpoints; emulator: Emulator };

/** The settings of every local system; those of a caller replace them. */
export const LAPTOP: Settings = {
  // Each concurrent invocation is a separate process here, and shares a few cores with the emulator.
  dispatchConcurrency: '2',
  deliverConcurrency: '5',
  retryConcurrency: '5',
  // The API's host name does not resolve locally (endpoints.ts).
  publicApiUrl: 'http://{host}/_aws/execute-api/{apiId}/$default',
};

/** Starts a local system. @throws Problem with advice if it cannot start; no process is left running then */
export async function startLocalSystem(options: LocalSystemOptions): Promise<LocalSystem> {
  const { folder, settings, app, signal } = options;
  mkdirSync(folder, { recursive: true });
  const emulator = await step('Starting the local AWS', () => startEmulator(options));
  try {
    const all = { ...LAPTOP, ...settings, local: 'true' };
    const outputs = await deploy({
      emulator,
      folder,
      signal,
      ...(app === undefined ? { context: all } : { app, context: { posthaste: JSON.stringify(all) } }),
    });
    return { endpoints: buildEndpoints(emulator, outputs), emulator };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}

type DeployRequest = {
  emulator: Pick<Emulator, 'endpoint' | 'keys'>;
  /** CDK context: the settings, or for an app of the user its key `posthaste` with them. */
  context: Settings;
  /** Command of the user's CDK app in the current folder. @default the built-in app */
  app?: string;
  /** Another checkout, whose built-in app is deployed. */
  checkout?: string;
  /** Folder for logs and outputs. */
  folder: string;
  signal: AbortSignal;
};

const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/**
 * Deploys all stacks with the CDK command, and returns the outputs of Posthaste by their names.
 * @throws Problem with the end of the CDK's output if it fails; or if the app has no deployment, or several
 */
export async function deploy(deployment: DeployRequest): Promise<Outputs> {
  const assembly = await synthAndBootstrap(deployment);
  const outputs = join(deployment.folder, 'outputs.json');
  rmSync(outputs, { force: true });
  const args = ['deploy', '--all', '-a', assembly, '--require-approval', 'never', '--outputs-file', outputs];
  await step('Deploying the stacks (cdk deploy --all)', () => cdk(deployment, 'deploy', args));
  return outputsOfApp(Object.values(outputsSchema.parse(JSON.parse(readFileSync(outputs, 'utf8')))));
}

/**
 * Synthesises and bootstraps in parallel. A failure stops the other, so that an invalid setting is reported at once.
 */
async function synthAndBootstrap(deployment: DeployRequest): Promise<string> {
  const failed = new AbortController();
  const together = { ...deployment, signal: AbortSignal.any([deployment.signal, failed.signal]) };
  const assembly = synthesised(together);
  const account = step('Preparing the account (cdk bootstrap)', () =>
    cdk(together, 'bootstrap', ['bootstrap', `aws://${localAws.account}/${localAws.region}`]),
  );
  try {
    await Promise.all([assembly, account]);
    return await assembly;
  } catch (error) {
    failed.abort();
    await Promise.allSettled([assembly, account]);
    throw error;
  }
}

async function synthesised(deployment: DeployRequest): Promise<string> {
  const { context, folder, checkout } = deployment;
  const root = checkout ?? projectRoot;
  const isBuiltIn = deployment.app === undefined;
  const program = checkout === undefined ? programFile('infra/app.ts') : join(checkout, 'infra/app.ts');
  const builtIn = ['node', ...cdkLibraryOptions(), program].map(shellWord).join(' ');
  const { app = builtIn } = deployment;
  const settings = Object.entries(context).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const synthesise = (output: string): Promise<void> =>
    step('Synthesising the stacks (cdk synth)', () =>
      cdk(deployment, 'synth', ['synth', '-q', '-a', app, '-o', output, ...settings], {
        cwd: isBuiltIn ? root : process.cwd(),
        // The rules for built-in templates are those of `npm run check:templates`; they take a third of a synthesis.
        env: isBuiltIn ? { ...plainEnvironment(), CDK_VALIDATION: 'false' } : environmentWithoutAws(),
      }),
    );
  // Synthesis takes most of a deployment's time.
  if (isBuiltIn) return cachedBuild(join(localFolder, 'assemblies'), fingerprint(root, context), synthesise);
  const output = join(folder, 'assembly');
  rmSync(output, { recursive: true, force: true });
  await synthesise(output);
  return output;
}

/** Runs the CDK; by default in a folder without an app, which it would run, and lock `cdk.out`. */
async function cdk(
  { emulator, folder, signal }: DeployRequest,
  name: string,
  args: string[],
  { cwd = folder, env = plainEnvironment() } = {},
): Promise<void> {
  const log = join(folder, `cdk-${name}.log`);
  rmSync(log, { force: true });
  const program = cdkProgram();
  if (program === undefined) throw new Problem(CDK_MISSING);
  await runToSuccess(projectNode, [program, ...args, '--no-notices'], {
    env: { ...env, ...awsEnvironment(emulator.endpoint, emulator.keys), ...QUIET_CDK, ...COMPILE_CACHE },
    cwd,
    log,
    signal,
    failure: `cdk ${name} failed.`,
  });
}

/** Keeps the CDK from calling anything but loopback. */
const QUIET_CDK = { CDK_DISABLE_VERSION_CHECK: '1', CDK_DISABLE_CLI_TELEMETRY: 'true', NO_COLOR: '1' };

/** The CDK command is started three times; the compile cache makes later starts faster. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: compileCache };
