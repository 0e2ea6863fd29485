/**
 * `node test/versions/store.ts COMMIT`: writes what `npm test` compares with today's code, because a clone may not have the
 * commit: the resources with data, for test/infra/upgrade.test.ts, and the readers of stored data, for
 * test/unit/adapters/way-back.test.ts. A commit with other names of the readers needs other lines here.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
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

const READERS = `
export { chunkOfItem } from './shared/adapters/dynamodb/deliveries/chunks.ts';
export { deliveryOf as toDelivery, deliveryItemOf as toDeliveryItem } from './shared/adapters/dynamodb/deliveries/delivery-item.ts';
export { messageItemOf as toMessageItem, messageRecordOf as toMessageRecord } from './shared/adapters/dynamodb/message-item.ts';
export {
  queueItemOf as toQueueItem,
  queueOf as toQueue,
  subscriptionItemOf as toSubscriptionItem,
  subscriptionOf as toSubscription,
} from './shared/adapters/dynamodb/subscriptions/subscription-item.ts';
export { parseWork } from './shared/wire/jobs/delivery-job.ts';
export { parseOperation } from './shared/wire/jobs/operation.ts';
export { parseReceipt } from './functions/api/pull/receipt.ts';
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

await build({
  stdin: { contents: READERS, resolveDir: folder, loader: 'ts' },
  outfile: join(projectRoot, `test/unit/adapters/readers-of-${commit}.mjs`),
  banner: {
    js: `// @ts-nocheck Readers and writers of stored data at ${commit}: test/versions/store.ts wrote this file.`,
  },
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  packages: 'external',
});
