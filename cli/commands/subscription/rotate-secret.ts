import { Option, type Command } from 'commander';
import { SIGNING_SCHEMES } from '../../../shared/domain/vocabulary.ts';
import { openApi } from '../../api/api-client.ts';
import { rotateSecret } from '../../api/subscriptions.ts';
import { idOf, queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { readInput } from '../../options/input.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { type?: string; secretFile?: string; grace?: number };

const MORE = `
Until the old secret ends, requests carry signatures of both. A secret is no argument: other users of the machine can see those.
`;

/** `posthaste subscription rotate-secret` */
export function addRotateSecret(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('rotate-secret')
    .description('Give a subscription another secret, which is shown this once.')
    .argument('<queue>', 'its queue', queueOf)
    .argument('<subscription>', 'its id', idOf)
    .addOption(
      new Option('--type <TYPE>', 'v1: a shared secret (HMAC); v1a: a key pair (Ed25519)').choices(
        SIGNING_SCHEMES,
      ),
    )
    .option('--secret-file <FILE>', 'take the secret from this file, - for stdin, instead of a new one')
    .option('--grace <SECONDS>', 'for how long the old one goes on (default 86400)', wholeNumberOf(0))
    .action(async (queue: string, id: string, { type, secretFile, grace, ...options }: Options) => {
      const rotated = await rotateSecret(await openApi(options, terminal), queue, id, {
        ...(type !== undefined && { type }),
        ...(secretFile !== undefined && {
          secret: (await readInput(secretFile, MOST_BYTES, terminal)).trim(),
        }),
        ...(grace !== undefined && { graceSeconds: grace }),
      });
      if (options.json === true) {
        terminal.printJson(rotated);
        return;
      }
      const { secret, publicKey, previousExpiresAt } = rotated;
      if (secret !== undefined) terminal.print(`The secret, which is not shown again: ${printable(secret)}`);
      if (publicKey !== undefined) terminal.print(`The public key: ${printable(publicKey)}`);
      if (typeof previousExpiresAt === 'string')
        terminal.print(`The one before is used beside it until ${printable(previousExpiresAt)}.`);
    });
  onDeployment(command, {
    json: 'secret or publicKey, previousExpiresAt',
    more: MORE,
    examples: ['subscription rotate-secret orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --grace 3600'],
  });
}

/** Far more than a secret has. */
const MOST_BYTES = 4096;
