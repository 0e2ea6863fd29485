import { explainMessage } from '../../../../api-client/operations.ts';
import { dataIn, type MessageView, showMessage } from '../../../../api-client/messages.ts';
import { isNotFound } from '../../../../api-client/refusal.ts';
import { counted } from '../../../../api-client/words.ts';
import { useConsole } from '../../live/console-context.tsx';
import { useLive } from '../../live/use-live.ts';
import { Facts, Moment } from '../../parts/facts.tsx';
import { Loaded, WhyMissing } from '../../parts/loaded.tsx';
import { Empty } from '../../parts/notice.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { hrefTo } from '../../route.ts';
import { MessageSubscriptions } from './message-subscriptions.tsx';

const MOST = 100;

export function MessagePage({ queue, id }: { queue: string; id: string }) {
  const { api } = useConsole();
  const message = useLive(
    `message/${queue}/${id}`,
    async () => {
      const shown = await showMessage(api, queue, id);
      return { view: shown.view, data: dataIn(shown) };
    },
    // It may still be in the ingress queue.
    { untilFound: true },
  );
  const isMissing = isNotFound(message.failure);
  const explained = useLive(`explained/${queue}/${id}/${String(isMissing)}`, () =>
    api.items(explainMessage, { path: { queue, message: id }, most: MOST }),
  );
  return (
    <>
      <PageHeading
        title={id}
        kind="Message"
        crumbs={[{ text: queue, href: hrefTo({ page: 'queue', queue }) }]}
      />
      <Loaded live={message}>
        {({ view, data }) => (
          <>
            <MessageFacts view={view} />
            <Section title="Subscriptions">
              <Loaded live={explained}>
                {(listed) => (
                  <MessageSubscriptions
                    message={{ queue, messageId: id, matched: view.matched }}
                    listed={listed}
                    onSent={explained.refresh}
                  />
                )}
              </Loaded>
            </Section>
            <Section title="Data">
              {data === undefined ? (
                <NoData erased={view.erasedAt !== undefined} />
              ) : (
                <SourceText text={data} what="the data" />
              )}
            </Section>
          </>
        )}
      </Loaded>
      {isMissing ? (
        <>
          <WhyMissing />
          <p>To look for it in all queues, press / and enter its id.</p>
        </>
      ) : null}
    </>
  );
}

function MessageFacts({ view }: { view: MessageView }) {
  return (
    <Facts
      facts={[
        ['Type', view.type],
        ['Accepted', <Moment at={view.acceptedAt} exact />],
        [
          'Matched',
          `${counted(view.matched, 'subscription', 'subscriptions')}${view.unfinished === true ? ' so far' : ''}`,
        ],
        [
          'Filtered',
          view.filtered === 0 ? undefined : `by ${counted(view.filtered, 'subscription', 'subscriptions')}`,
        ],
        ['Duplicates', view.duplicates === 0 ? undefined : view.duplicates.toLocaleString('en')],
        ['Erased', view.erasedAt === undefined ? undefined : <Moment at={view.erasedAt} />],
      ]}
    />
  );
}

function NoData({ erased }: { erased: boolean }) {
  return erased ? (
    <Empty title="The data was erased" />
  ) : (
    <Empty title="The data is not stored">
      <p>
        Data is stored from the first failure on. With the setting retainMessages=all it is stored for every
        message.
      </p>
    </Empty>
  );
}
