import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { CDK_MISSING, cdkProgram } from '../../../local/install/npm.mjs';
import { localFolder } from '../../../local/install/paths.mjs';
import { Problem } from '../../../local/install/problem.mjs';
import { freshLog, runToSuccess } from '../../../local/install/process-group.mjs';
import { type Template, templateSchema } from './compare.ts';

/** A stack as the CDK synthesised it. */
export type NewStack = {
  name: string;
  /** `aws://account/region`, each `unknown-…` where the app leaves it open. */
  environment: string;
  template: Template;
  /** The template as CloudFormation gets it, without blanks. */
  body: string;
  /** Where `cdk deploy` uploads the template, as `s3://bucket/key` with CloudFormation's pseudo parameters. */
  uploadTo?: string | undefined;
};

const manifestSchema = z.object({
  artifacts: z.record(
    z.string(),
    z.object({
      type: z.string(),
      environment: z.string().default(''),
      properties: z
        .looseObject({
          stackName: z.string().optional(),
          templateFile: z.string().optional(),
          stackTemplateAssetObjectUrl: z.string().optional(),
          directoryName: z.string().optional(),
        })
        .default({}),
    }),
  ),
});

/**
 * The stacks in an output folder of `cdk synth`, also those of its stages.
 * @throws Problem if it is none
 */
export function readAssembly(folder: string): NewStack[] {
  const file = path.join(folder, 'manifest.json');
  if (!existsSync(file))
    throw new Problem(`${folder} has no manifest.json. Give the output folder of "npx cdk synth".`);
  const { artifacts } = manifestSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  return Object.entries(artifacts).flatMap(([id, { type, environment, properties }]) => {
    const { stackName = id, templateFile, directoryName, stackTemplateAssetObjectUrl: uploadTo } = properties;
    if (type === 'cdk:cloud-assembly' && directoryName !== undefined)
      return readAssembly(path.join(folder, directoryName));
    if (type !== 'aws:cloudformation:stack' || templateFile === undefined) return [];
    const content: unknown = JSON.parse(readFileSync(path.join(folder, templateFile), 'utf8'));
    const template = templateSchema.parse(content);
    return [{ name: stackName, environment, template, body: JSON.stringify(content), uploadTo }];
  });
}

/**
 * Synthesises the CDK app of the current folder, or the one that `app` runs, and returns the output folder.
 * @throws Problem with the end of the CDK's output
 */
export async function synthesise(
  { app, context = [] }: { app?: string; context?: readonly string[] },
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const program = cdkProgram();
  if (program === undefined) throw new Problem(CDK_MISSING);
  const log = freshLog('upgrade-synth.log');
  const folder = path.join(localFolder, 'upgrade-check');
  rmSync(folder, { recursive: true, force: true });
  const args = [
    ...['synth', '--quiet', '--no-notices', '--output', folder],
    ...(app === undefined ? [] : ['--app', app]),
    ...context.flatMap((setting) => ['--context', setting]),
  ];
  await runToSuccess(process.execPath, [program, ...args], {
    env,
    cwd: process.cwd(),
    log,
    signal,
    failure: 'cdk synth failed.',
  });
  return folder;
}
