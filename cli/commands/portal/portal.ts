import { type Command, Option } from 'commander';
import { createPortalLink, endPortalSessions } from '../../../api-client/operations.ts';
import { commandText } from '../../../local/command-name.ts';
import { CAPABILITIES, type Capability } from '../../../shared/domain/portal/vocabulary.ts';
import { openApiToWrite } from '../../api/api-access.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import { collect, parseQueue, wholeSeconds } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';

type LinkOptions = DeploymentOptions & {
  capability?: readonly Capability[];
  eventType?: readonly string[];
  expiresIn?: number;
  sessionId?: string;
};

export function addPortalCommands(portal: Command, terminal: Terminal): void {
  addLink(portal, terminal);
  addEnd(portal, terminal);
}

/** `posthaste portal link` */
function addLink(portal: Command, terminal: Terminal): void {
  const command = portal
    .command('link')
    .description('Make a link to the page of a customer, who manages the endpoints of one queue.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .addOption(
      new Option(
        '--capability <NAME...>',
        'what the customer may do (default: see endpoints and charts)',
      ).choices(CAPABILITIES),
    )
    .option(
      '--event-type <TYPE>',
      'an event type that endpoints may choose, repeatable (default: all)',
      collect((text) => text),
    )
    .option(
      '--expires-in <DURATION>',
      'how long the link can be opened: 1m to 7d (default: 1h)',
      wholeSeconds(60),
    )
    .option('--session-id <ID>', 'names the sessions of the link, to end them (default: a random one)')
    .action(async (queue: string, options: LinkOptions) => {
      const { capability: capabilities = [], eventType, expiresIn, sessionId } = options;
      const api = await openApiToWrite(options, terminal);
      const link = await api.call(createPortalLink, {
        path: { queue },
        body: {
          capabilities: [...capabilities],
          ...(eventType && { event_types: [...eventType] }),
          ...(expiresIn !== undefined && { expires_in: expiresIn }),
          ...(sessionId !== undefined && { session_id: sessionId }),
        },
      });
      terminal.printResult(options, link, () =>
        [
          printable(link.url),
          `It can be opened once, until ${clockTime(link.expires_at)}. The session then lasts 8 hours.`,
          `To end it: ${commandText(`portal end ${queue} ${link.session_id}`)}`,
        ].join('\n'),
      );
    });
  onDeployment(command, {
    json: 'url, session_id, expires_at',
    more: '\nThe first one to open the link can do what it grants. It is shown once.\n',
    examples: [
      'portal link acme --capability manage secrets test deliveries retry',
      'portal link acme --event-type order.paid --expires-in 1d --session-id customer-42',
    ],
  });
}

/** `posthaste portal end` */
function addEnd(portal: Command, terminal: Terminal): void {
  const command = portal
    .command('end')
    .description('End the links and sessions of a session id at once.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .argument('<session-id>', 'session id of the link')
    .action(async (queue: string, session: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      await requireQueue(api, queue);
      await api.call(endPortalSessions, { path: { queue, session } });
      terminal.printResult(
        options,
        { queue, session_id: session },
        () => `Ended ${printable(session)} on queue ${queue}.`,
      );
    });
  onDeployment(command, {
    json: 'queue, session_id',
    more: '',
    examples: ['portal end acme customer-42'],
  });
}
