import { InvalidArgumentError, type Command } from 'commander';
import { patchQueue } from '../../../api-client/operations.ts';
import { metadataPointer } from '../../../api-client/queues.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { collect, jsonOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import { policyOf } from '../../options/retry-policy.ts';
import { printableJson } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & {
  policy?: string;
  set?: readonly Member[];
  unset?: readonly string[];
};

/** `source` is JSON source text. */
type Member = { key: string; source: string };

const MORE = `
Values are JSON, so a text needs double quotes. --policy is short for --set
_retry_policy=<JSON>.
`;

/** `posthaste queue set` */
export function addQueueSet(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('set')
    .description('Change the given metadata of a queue, and keep the rest.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--policy <POLICY>', 'retry policy, as JSON or a preset', policyOf)
    .option('--set <KEY=JSON>', 'set a metadata key; repeatable', collect(memberOf))
    .option('--unset <KEY>', 'remove a metadata key; repeatable', collect(String))
    .action(async (name: string, options: Options) => {
      const changes = changesOf(options);
      if (changes.length === 0)
        command.error('error: there is nothing to change; add --policy, --set or --unset');
      const metadata = await (
        await openApiToWrite(options, terminal)
      ).call(patchQueue, {
        path: { queue: name },
        body: `[${changes.join(',')}]`,
      });
      if (options.json === true) terminal.printJson(metadata);
      else terminal.print(printableJson(JSON.stringify(metadata, undefined, 2)));
    });
  onDeployment(command, {
    json: 'the metadata after the change',
    more: MORE,
    examples: [
      `queue set orders --policy '{"retry_backoff_function": "geometric"}'`,
      `queue set orders --set owner='"billing"' --unset note`,
    ],
  });
}

function memberOf(text: string): Member {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected KEY=JSON.');
  return { key: text.slice(0, at), source: jsonOf(text.slice(at + 1)) };
}

/** Operations of a JSON patch (RFC 6902). `add` replaces an existing member. */
function changesOf({ policy, set = [], unset = [] }: Options): string[] {
  const members = [...(policy === undefined ? [] : [{ key: '_retry_policy', source: policy }]), ...set];
  return [
    ...members.map(({ key, source }) =>
      objectText([
        ['op', '"add"'],
        ['path', textOf(metadataPointer(key))],
        ['value', source],
      ]),
    ),
    ...unset.map((key) => JSON.stringify({ op: 'remove', path: metadataPointer(key) })),
  ];
}
