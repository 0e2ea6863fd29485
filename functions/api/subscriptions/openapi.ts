import { subscriptionViewSchema } from '../../../shared/wire/views/subscription.ts';
import { pageQuery } from '../paging.ts';
import { confirmationQuery } from './confirmation-routes.ts';
import { rotationAnswerSchema, rotationRequestSchema } from './secret-routes.ts';
import { confirmedSchema, subscribedSchema, subscriptionListSchema } from './answers.ts';
import { testedSchema, testRequestSchema } from './test-routes.ts';
import { json, leadingTo, located, nothing } from '../openapi/answers.ts';
import { jsonBody, optionalJsonBody, type Operation, type Operations } from '../openapi/operation.ts';
import { ofQueue, ofSubscription } from '../openapi/parameters.ts';
import { describedSubscription, describedSubscriptionPatch } from './openapi-schemas.ts';

const theSubscription = json('The subscription as it is now.', subscriptionViewSchema);

/** What can be asked of a subscription that one has the id of. */
const OF_ONE = [
  'getSubscription',
  'updateSubscription',
  'unsubscribe',
  'enableSubscription',
  'disableSubscription',
  'rotateSecret',
  'testSubscription',
];

const confirmation = {
  tag: 'subscriptions',
  summary: 'Where the link leads that a subscriber is sent to confirm its subscription',
  path: ofSubscription,
  query: confirmationQuery,
  answers: { 200: json('It is confirmed.', confirmedSchema) },
  refuses: [404],
  open: true,
} as const satisfies Omit<Operation, 'id'>;

export const subscriptionOperations: Operations = {
  'POST /v2/queues/{queue}/subscriptions': {
    id: 'subscribe',
    tag: 'subscriptions',
    summary: 'Subscribes',
    description:
      'The secret is shown here and never again. The queue is created if there is none. A `confirmation` that is `owed` ' +
      'could not be sent: change the `subscriber` to what it is, and it is.',
    path: ofQueue,
    body: jsonBody(describedSubscription),
    answers: {
      201: leadingTo(
        OF_ONE,
        { subscription: '$response.body#/subscription_id' },
        located(json('Its id and its secret.', subscribedSchema)),
      ),
    },
    refuses: [400, 404, 409, 413],
  },
  'GET /v2/queues/{queue}/subscriptions': {
    id: 'listSubscriptions',
    tag: 'subscriptions',
    summary: 'Lists subscriptions',
    path: ofQueue,
    query: pageQuery,
    answers: {
      200: leadingTo(
        OF_ONE,
        { subscription: '$response.body#/subscriptions/0/id' },
        json('A page of them.', subscriptionListSchema),
      ),
    },
    refuses: [400, 404],
  },
  'GET /v2/queues/{queue}/subscriptions/{subscription}': {
    id: 'getSubscription',
    tag: 'subscriptions',
    summary: 'One subscription',
    path: ofSubscription,
    answers: { 200: theSubscription },
    refuses: [400, 404],
  },
  'PATCH /v2/queues/{queue}/subscriptions/{subscription}': {
    id: 'updateSubscription',
    tag: 'subscriptions',
    summary: 'Changes what is given; options are given as a whole',
    path: ofSubscription,
    body: jsonBody(describedSubscriptionPatch),
    answers: { 200: theSubscription },
    refuses: [400, 404, 409, 413],
  },
  'DELETE /v2/queues/{queue}/subscriptions/{subscription}': {
    id: 'unsubscribe',
    tag: 'subscriptions',
    summary: 'Unsubscribes, and cancels what is pending',
    path: ofSubscription,
    answers: { 204: nothing('There is no such subscription now.') },
    refuses: [400, 404, 409],
  },
  'POST /v2/queues/{queue}/subscriptions/{subscription}/enable': {
    id: 'enableSubscription',
    tag: 'subscriptions',
    summary: 'Delivers to it again',
    path: ofSubscription,
    answers: { 200: theSubscription },
    refuses: [400, 404, 409],
  },
  'POST /v2/queues/{queue}/subscriptions/{subscription}/disable': {
    id: 'disableSubscription',
    tag: 'subscriptions',
    summary: 'Delivers nothing to it until it is enabled',
    path: ofSubscription,
    answers: { 200: theSubscription },
    refuses: [400, 404, 409],
  },
  'POST /v2/queues/{queue}/subscriptions/{subscription}/secret/rotate': {
    id: 'rotateSecret',
    tag: 'subscriptions',
    summary: 'Gives it a new signing secret',
    description: 'The one before goes on signing for `graceSeconds`.',
    path: ofSubscription,
    body: optionalJsonBody(rotationRequestSchema),
    answers: { 200: json('The new secret, or the public key of a v1a one.', rotationAnswerSchema) },
    refuses: [400, 404, 409, 413],
  },
  'POST /v2/queues/{queue}/subscriptions/{subscription}/test': {
    id: 'testSubscription',
    tag: 'subscriptions',
    summary: 'Sends it a message of its own, and shows what came of it',
    path: ofSubscription,
    body: optionalJsonBody(testRequestSchema),
    answers: {
      200: json('After its first attempt.', testedSchema),
      202: json('The first attempt is still to come.', testedSchema),
    },
    refuses: [400, 404, 409, 413],
  },
  'GET /v2/queues/{queue}/subscriptions/{subscription}/confirm': {
    ...confirmation,
    id: 'followConfirmation',
  },
  'POST /v2/queues/{queue}/subscriptions/{subscription}/confirm': {
    ...confirmation,
    id: 'confirmSubscription',
  },
};
