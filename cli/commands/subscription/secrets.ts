import { type Command, Option } from 'commander';
import { rotatePullToken, rotateSecret } from '../../../api-client/operations.ts';
import { SIGNING_SCHEMES } from '../../../shared/domain/subscription/vocabulary.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { addSubscriptionAddress, wholeNumberOf } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { readSecret } from '../../options/input.ts';
import { shownOnce } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { type?: string; secretFile?: string; grace?: number };

const MORE = `
Until the old secret expires, requests are signed with both. For v1a, only the
public key is printed. --secret-file takes a file because other users of this
machine could see a secret in the arguments.
`;

/** `posthaste subscription rotate-secret` */
export function addRotateSecret(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('rotate-secret'))
    .description('Replace the signing secret of a subscription. The new secret or public key is shown once.')
    .addOption(
      new Option('--type <TYPE>', 'v1: shared secret (HMAC, the default); v1a: key pair (Ed25519)').choices(
        SIGNING_SCHEMES,
      ),
    )
    .option('--secret-file <FILE>', 'use the secret in this file instead of a random one; - for stdin')
    .option(
      '--grace <SECONDS>',
      'seconds for which the old secret stays valid (default: 86400)',
      wholeNumberOf(0),
    )
    .action(async (queue: string, reference: string, { type, secretFile, grace, ...options }: Options) => {
      const api = await openApiToWrite(options, terminal);
      const subscription = await resolveSubscription(api, queue, reference);
      const secret = secretFile === undefined ? undefined : await readSecret(secretFile, terminal);
      const rotated = await api.call(rotateSecret, {
        path: { queue, subscription },
        body: JSON.stringify({ type, secret, graceSeconds: grace }),
      });
      if (options.json === true) {
        terminal.printJson(rotated);
        return;
      }
      const { secret: made, publicKey, previousExpiresAt } = rotated;
      if (made !== undefined) terminal.print(shownOnce('New signing secret', made));
      if (publicKey !== undefined) terminal.print(shownOnce('New public key', publicKey));
      if (typeof previousExpiresAt === 'string')
        terminal.print(`The old secret stays valid until ${clockTime(previousExpiresAt)}.`);
    });
  onDeployment(command, {
    json: 'secret or publicKey, previousExpiresAt',
    more: MORE,
    examples: ['subscription rotate-secret orders 5b0c0f1e --grace 3600'],
  });
}

type PullTokenOptions = DeploymentOptions & { grace?: number };

/** `posthaste subscription pull-token` */
export function addPullToken(subscription: Command, terminal: Terminal): void {
  const command = addSubscriptionAddress(subscription.command('pull-token'))
    .description('Give a pull subscription a token, by which its subscriber receives. It is shown once.')
    .option(
      '--grace <SECONDS>',
      'seconds for which the previous token stays valid (default: 86400)',
      wholeNumberOf(0),
    )
    .action(async (queue: string, reference: string, { grace, ...options }: PullTokenOptions) => {
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const made = await api.call(rotatePullToken, {
        path: { queue, subscription: id },
        body: grace === undefined ? {} : { graceSeconds: grace },
      });
      if (options.json === true) {
        terminal.printJson(made);
        return;
      }
      terminal.print(shownOnce('Token', made.token));
      if (typeof made.previousExpiresAt === 'string')
        terminal.print(`The previous token stays valid until ${clockTime(made.previousExpiresAt)}.`);
    });
  onDeployment(command, {
    json: 'token, previousExpiresAt',
    examples: ['subscription pull-token orders pull:warehouse'],
  });
}
