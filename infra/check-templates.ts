/**
 * Synthesises the stacks for several settings. Checks the templates against CloudFormation's schemas with cfn-lint
 * (pinned, installed once under .local/), and the constructs against cdk-nag's rules for AWS solutions. Does not bundle
 * functions, because that does not change the templates.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { App } from 'aws-cdk-lib';
import { z } from 'zod';
import { checkedVariants } from './checked-variants.ts';
import { createStacks } from './deployment.ts';
import { securityFindings } from './security-findings.ts';

const CFN_LINT = '1.58.0';

/**
 * W3005: CDK adds redundant DependsOn entries for a function's role. Harmless. W6001: the pipeline's outputs name the
 * tables, which are imported, so that the command and workers find everything in one stack.
 */
const IGNORED = ['W3005', 'W6001'];

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

const project = fileURLToPath(new URL('..', import.meta.url));
const tool = join(project, '.local', 'cfn-lint');
const templates = join(project, '.local', 'templates');

/** @throws Error with the message, if the program fails */
async function run(
  program: string,
  parameters: readonly string[],
  { failure, env = {} }: { failure: string; env?: Record<string, string> },
): Promise<void> {
  const child = spawn(program, parameters, {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await once(child, 'close').catch((error: unknown) => {
    throw new Error(failure, { cause: error });
  });
  if (child.exitCode !== 0) throw new Error(failure);
}

async function install(): Promise<void> {
  if (existsSync(join(tool, `cfn_lint-${CFN_LINT}.dist-info`))) return;
  rmSync(tool, { recursive: true, force: true });
  process.stdout.write(`Installing cfn-lint ${CFN_LINT} into .local/cfn-lint …\n`);
  const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
  await run('python3', ['-m', 'pip', 'install', ...quiet, '--target', tool, `cfn-lint==${CFN_LINT}`], {
    failure: 'Could not install cfn-lint. It needs Python 3.10 or later with pip, and a package index.',
  });
}

/** CDK's feature flags, which the CLI reads. */
const { context } = cdkJson.parse(JSON.parse(readFileSync(join(project, 'cdk.json'), 'utf8')));

/** Writes the templates for these settings, as `cdk synth` would. */
function synthesise(name: string, settings: Readonly<Record<string, unknown>>): string[] {
  const app = new App({
    outdir: join(templates, name),
    context: { ...context, 'aws:cdk:bundling-stacks': [] },
  });
  createStacks(app, settings);
  return app.synth().stacks.map(({ templateFullPath }) => templateFullPath);
}

/** Drops duplicates, because most settings change only one of the three templates. */
function distinct(files: readonly string[]): string[] {
  return [...new Map(files.map((file) => [readFileSync(file, 'utf8'), file])).values()];
}

/** cfn-lint works on one processor, so it is started once for each. */
async function lint(files: readonly string[]): Promise<void> {
  const main = 'import sys; from cfnlint.runner import main; sys.exit(main())';
  const parts = Object.values(Object.groupBy(files, (_, index) => String(index % availableParallelism())));
  await Promise.all(
    parts.map((part = []) =>
      run('python3', ['-c', main, '--ignore-checks', ...IGNORED, '--', ...part], {
        failure: 'cfn-lint found problems in the templates.',
        env: { PYTHONPATH: tool },
      }),
    ),
  );
}

await install();
rmSync(templates, { recursive: true, force: true });
const files = Object.entries(checkedVariants).flatMap(([name, settings]) => synthesise(name, settings));
await lint(distinct(files));
const findings = Object.entries(checkedVariants).flatMap(([name, settings]) =>
  securityFindings(settings, context).map((finding) => `  ${name}: ${finding}\n`),
);
if (findings.length > 0) throw new Error(`cdk-nag found problems in the stacks.\n${findings.join('')}`);
process.stdout.write(`${files.length} templates without problems.\n`);
