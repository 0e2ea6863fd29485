import { PageHeading } from '../parts/page-heading.tsx';
import { hrefTo, type Route } from '../route.ts';
import { BooksPage } from './books/books-page.tsx';
import { DeadLettersPage } from './dead-letters/dead-letters-page.tsx';
import { DeliveriesPage } from './deliveries/deliveries-page.tsx';
import { DeliveryPage } from './delivery/delivery-page.tsx';
import { DesignerPage } from './designer/designer-page.tsx';
import { MessagePage } from './message/message-page.tsx';
import { MessagesPage } from './messages/messages-page.tsx';
import { OverviewPage } from './overview/overview-page.tsx';
import { QueuePage } from './queue/queue-page.tsx';
import { QueueChoice } from './queue/page-of-queue.tsx';
import { RecoveryPage } from './recovery/recovery-page.tsx';
import { SubscriptionPage } from './subscription/subscription-page.tsx';

/** The page of the route. The key remounts a page when its subject changes. */
export function CurrentPage({ route }: { route: Route }) {
  switch (route.page) {
    case 'overview':
      return <OverviewPage />;
    case 'queue':
      return <QueuePage key={route.queue} queue={route.queue} />;
    case 'subscription':
      return <SubscriptionPage key={hrefTo(route)} queue={route.queue} id={route.subscription} />;
    case 'messages':
      return <MessagesPage key={hrefTo(route)} queue={route.queue} query={route.query} />;
    case 'message':
      return <MessagePage key={hrefTo(route)} queue={route.queue} id={route.message} />;
    case 'deliveries':
      return <DeliveriesPage key={hrefTo(route)} queue={route.queue} query={route.query} />;
    case 'delivery':
      return (
        <DeliveryPage
          key={hrefTo(route)}
          address={{ queue: route.queue, messageId: route.message, subscriptionId: route.subscription }}
        />
      );
    case 'recovery':
      return route.queue === undefined ? (
        <QueueChoice title="Recovery" page="recovery" />
      ) : (
        <RecoveryPage key={hrefTo(route)} queue={route.queue} query={route.query} />
      );
    case 'books':
      return route.queue === undefined ? (
        <QueueChoice title="Reconciliation" page="books" />
      ) : (
        <BooksPage key={hrefTo(route)} queue={route.queue} query={route.query} />
      );
    case 'designer':
      return <DesignerPage key={hrefTo(route)} query={route.query} />;
    case 'dead-letters':
      return <DeadLettersPage key={hrefTo(route)} query={route.query} />;
    case 'unknown':
      return (
        <>
          <PageHeading title="Page not found" />
          <p>
            <a href={hrefTo({ page: 'overview' })}>Back to the overview</a>
          </p>
        </>
      );
  }
}
