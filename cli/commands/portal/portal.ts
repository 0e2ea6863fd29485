import { createPortalLink, endPortalSessions } from '../../../api-client/operations.ts';
import { commandText } from '../../../local/command-name.ts';
import { LINK_SECONDS } from '../../../shared/domain/portal/session.ts';
import { CAPABILITIES, type Capability } from '../../../shared/domain/portal/vocabulary.ts';
import { requireQueue } from '../../api/find-subscription.ts';
import { argument, collect, option, QUEUE, wholeSeconds } from '../../options/arguments.ts';
import { deployed, group } from '../../options/deployed.ts';
import { clockTime, printable } from '../../output/text.ts';

type LinkOptions = {
  capability?: readonly Capability[];
  eventType?: readonly string[];
  expiresIn?: number;
  sessionId?: string;
};

export const portalCommands = group({
  link: deployed<LinkOptions>({
    description: 'Make a link to the page of a customer, who manages the endpoints of one queue.',
    arguments: [QUEUE],
    options: [
      option(
        '--capability <NAME...>',
        'what the customer may do (default: see endpoints and charts)',
      ).choices(CAPABILITIES),
      option(
        '--event-type <TYPE>',
        'an event type that endpoints may choose, repeatable (default: all)',
        collect(String),
      ),
      option(
        '--expires-in <DURATION>',
        'how long the link can be opened: 1m to 7d (default: 1h)',
        wholeSeconds(LINK_SECONDS.least, LINK_SECONDS.most, '1m to 7d'),
      ),
      option('--session-id <ID>', 'names the sessions of the link, to end them (default: a random one)'),
    ],
    json: 'url, session_id, expires_at',
    more: '\nThe first one to open the link can do what it grants. It is shown once.\n',
    examples: [
      'portal link acme --capability manage secrets test deliveries retry',
      'portal link acme --event-type order.paid --expires-in 1d --session-id customer-42',
    ],
    write: async ({ api, options }, queue) => {
      const { capability: capabilities = [], eventType, expiresIn, sessionId } = options;
      const link = await api.call(createPortalLink, {
        path: { queue },
        body: {
          capabilities: [...capabilities],
          event_types: eventType && [...eventType],
          expires_in: expiresIn,
          session_id: sessionId,
        },
      });
      const text = [
        printable(link.url),
        `It can be opened once, until ${clockTime(link.expires_at)}. The session then lasts 8 hours.`,
        `To end it: ${commandText(`portal end ${queue} ${link.session_id}`)}`,
      ];
      return [link, () => text.join('\n')];
    },
  }),
  end: deployed({
    description: 'End the links and sessions of a session id at once.',
    arguments: [QUEUE, argument('<session-id>', 'session id of the link')],
    json: 'queue, session_id',
    examples: ['portal end acme customer-42'],
    write: async ({ api }, queue, session) => {
      await requireQueue(api, queue);
      await api.call(endPortalSessions, { path: { queue, session } });
      return [{ queue, session_id: session }, () => `Ended ${printable(session)} on queue ${queue}.`];
    },
  }),
});
