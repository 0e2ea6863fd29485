import { useEffect } from 'preact/hooks';
import type { DeliveryAddress } from '../../../../api-client/deliveries.ts';
import { getPayload, getSubscription } from '../../../../api-client/operations.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { parseDestination } from '../../../../shared/domain/subscription/destination.ts';
import { useConsole } from '../../live/console-context.tsx';
import { loadedBy, useAction } from '../../live/use-action.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Section } from '../../parts/page-heading.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { curlCommand, knownRequest, type KnownRequest } from './known-request.ts';

/**
 * The request of each attempt as far as it is known, as a command that repeats it. It is read once: the data can have
 * 1 MiB.
 */
export function RequestSection({ address }: { address: DeliveryAddress }) {
  const { api } = useConsole();
  const { queue, messageId, subscriptionId } = address;
  const { action, run } = useAction(async () => {
    const [subscription, { body }] = await Promise.all([
      api.call(getSubscription, { path: { queue, subscription: subscriptionId } }),
      api.call(getPayload, { path: { queue, message: messageId, subscription: subscriptionId } }),
    ]);
    return knownRequest(subscription, messageId, body);
  });
  useEffect(run, [run]);
  const live = loadedBy(action);
  return (
    <Section title="Request">
      {isNotFound(live.failure) ? (
        <Empty title="The request is not known, because the subscription or the message no longer exists" />
      ) : (
        <Loaded live={live}>{(known) => <Request known={known} />}</Loaded>
      )}
    </Section>
  );
}

function Request({ known }: { known: KnownRequest }) {
  const { url } = known;
  switch (parseDestination(url).kind) {
    case 'webhook':
      return <WebhookRequest known={known} />;
    case 'pull':
      return <Empty title="No request is made: the subscriber receives by pull" />;
  }
}

function WebhookRequest({ known }: { known: KnownRequest }) {
  const { body, redacted, fileOptions } = known;
  return (
    <div class="stack">
      <p>
        The request of each attempt, with the subscription’s current URL and headers, as a command for bash or
        zsh. It sends the message once more, outside of Posthaste.
      </p>
      <ul class="notes">
        <li>
          Left out: user-agent, and webhook-timestamp and webhook-signature, which differ for each attempt.
        </li>
        {redacted.length === 0 ? null : <li>Hidden values to replace: {redacted.join(', ')}.</li>}
        {fileOptions.length === 0 ? null : <li>To add, each with a file: {fileOptions.join(', ')}.</li>}
        <li>
          {body === undefined
            ? 'The body is empty, because the message is not stored.'
            : 'The body is what the subscription gets with its options as they are now.'}
        </li>
      </ul>
      <SourceText text={curlCommand(known)} what="the curl command" />
    </div>
  );
}
