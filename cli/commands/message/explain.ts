import type { Command } from 'commander';
import type { ExplainVerdict } from '../../../shared/domain/vocabulary.ts';
import { openApi } from '../../api/api-client.ts';
import { explainMessage, noneLeftText, type Explained } from '../../api/explain.ts';
import { shortId } from '../../api/find-subscription.ts';
import { idOf, queueOf, SUBSCRIPTION, subscriptionOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { colouredStatus } from '../../output/status-colour.ts';
import { clockTime } from '../../output/time-text.ts';
import type { Terminal } from '../../terminal.ts';
import { findAddress } from '../deliveries/delivery-options.ts';

const MORE = `
Says for each subscription of the queue what became of the message, and why no
request was made where none was. A verdict with "?" is probable: options have
changed since, or the message's data is not kept. To send the message to a
subscription all the same, use posthaste send.
`;

type Options = DeploymentOptions & { limit?: number };

/** `posthaste explain` */
export function addExplain(command: Command, terminal: Terminal): void {
  command
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<message>', 'id of the message', idOf)
    .argument('[subscription]', SUBSCRIPTION, subscriptionOf)
    .option('--limit <N>', 'maximum number of subscriptions (default: 100)', wholeNumberOf(1))
    .action(async (queue: string, messageId: string, reference: string | undefined, options: Options) => {
      const api = await openApi(options, terminal);
      const address =
        reference === undefined ? { queue, messageId } : await findAddress(api, queue, messageId, reference);
      let matched = 0;
      const onMessage = (message: { matched: number }): void => {
        ({ matched } = message);
      };
      await printList(terminal, explainMessage(api, address, { most: options.limit ?? 100, onMessage }), {
        ...options,
        columns: COLUMNS,
        rowOf: (explained) => rowOf(explained, terminal),
        none: () => noneLeftText(matched),
      });
    });
  onDeployment(command, {
    json: 'one subscription per line: subscriptionId, verdict, certain, detail, rule, delivery',
    more: MORE,
    examples: ['explain orders order-17', 'explain orders order-17 ACME'],
  });
}

const COLUMNS = [{ head: 'Subscription' }, { head: 'Subscriber' }, { head: 'Verdict' }, { head: 'Why' }];

function rowOf(explained: Explained, terminal: Terminal): string[] {
  const { subscriptionId, name, subscriber = '(deleted)', verdict, certain } = explained;
  return [
    printable(shortId(subscriptionId)),
    printable(name ?? subscriber),
    colouredStatus(certain ? verdict : `${verdict} ?`, terminal),
    printable(reasonOf(explained)),
  ];
}

const MEANINGS: Record<ExplainVerdict, string> = {
  delivered: 'the subscriber accepted it',
  retrying: 'attempts failed, and another one follows',
  pending: 'the first attempt is still to come',
  rejected: 'the subscriber refused it',
  exhausted: 'all attempts failed',
  cancelled: 'it was cancelled',
  rate_limited: 'it waits for its turn: max_per_second',
  filtered: 'the subscription does not want it',
  unconfirmed: 'the subscription was not confirmed',
  disabled: 'the subscription was disabled',
  expired: 'the subscription or the message had expired',
  added_later: 'the subscription was created afterwards',
  not_sent_yet: 'it is not sent to all subscriptions yet',
  deleted: 'the subscription was deleted',
};

function reasonOf({ verdict, rule, delivery, detail }: Explained): string {
  const by = rule === undefined ? '' : `: ${[rule.by, rule.path].filter(Boolean).join(' at ')}`;
  const attempts = delivery === undefined ? [] : attemptsText(delivery);
  return [MEANINGS[verdict] + by, ...attempts, ...(detail === undefined ? [] : [detail])].join(', ');
}

function attemptsText(delivery: NonNullable<Explained['delivery']>): string[] {
  const { attemptCount: count, nextAttemptAt } = delivery;
  return [
    count === 0 ? '' : `${count} ${count === 1 ? 'attempt' : 'attempts'}`,
    lastText(delivery),
    nextAttemptAt === undefined ? '' : `next ${clockTime(nextAttemptAt)}`,
  ].filter((part) => part !== '');
}

function lastText({ reason, lastAttempt }: NonNullable<Explained['delivery']>): string {
  return reason ?? String(lastAttempt?.statusCode ?? lastAttempt?.error ?? '');
}
