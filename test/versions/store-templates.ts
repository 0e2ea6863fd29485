/** `node test/versions/store-templates.ts COMMIT`: writes what test/infra/upgrade.test.ts compares with today's templates. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { REPLACING, templateSchema } from '../../cli/commands/upgrade/compare.ts';
import { projectNode, projectRoot } from '../../local/install/paths.mjs';
import { checkoutOf } from './checkout.ts';

/** Runs in the checkout, which has its own CDK. */
const SYNTHESISE = `
import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { createStacks } from './infra/deployment.ts';
const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
createStacks(app, {});
const stacks = app.synth().stacks.map(({ stackName, template }) => [stackName, template]);
process.stdout.write(JSON.stringify(Object.fromEntries(stacks)));
`;

const [commit = 'HEAD'] = process.argv.slice(2);
const folder = await checkoutOf(commit, new AbortController().signal);
const output = execFileSync(projectNode, ['--input-type=module', '-e', SYNTHESISE], {
  cwd: folder,
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
});
const templates = z.record(z.string(), templateSchema).parse(JSON.parse(output));
/** Only resources with data, by which the file stays short. */
const stored = Object.entries(templates).map(([stack, { Resources }]) => {
  const withData = Object.entries(Resources).filter(([, { Type }]) => Type in REPLACING);
  return [stack, { Resources: Object.fromEntries(withData) }];
});
writeFileSync(
  join(projectRoot, `test/infra/templates-of-${commit}.json`),
  `${JSON.stringify(Object.fromEntries(stored), undefined, 2)}\n`,
);
