import type { Endpoints } from './endpoints.ts';
import { localAws } from './local-aws.ts';

/**
 * What to do with a system that is up, ready to paste into a shell. Single quotes: the API's URL holds a `$`.
 *
 * @param queue an example's
 */
export const hints = (endpoints: Endpoints, queue: string): string => {
  const { accessKeyId, secretAccessKey } = localAws.credentials;
  const { endpoint, region, apiUrl, ingressQueueUrl } = endpoints;
  const message = JSON.stringify({ queue, type: 'order.created', data: { order: 1002 } });
  const posted = JSON.stringify({ messages: [{ type: 'order.created', body: { order: 1002 } }] });
  const subscription = JSON.stringify({ subscriber: 'http://127.0.0.1:8080/webhooks' });
  const json = `-H 'content-type: application/json'`;
  return `Posthaste is up.
  API            ${apiUrl}
  Ingress queue  ${ingressQueueUrl}

Subscribe (with a server of yours on port 8080):
  curl -X POST '${apiUrl}/v2/queues/${queue}/subscriptions' ${json} -d '${subscription}'

Publish with the AWS command line:
  AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey} aws --region ${region} --endpoint-url '${endpoint}' sqs send-message --queue-url '${ingressQueueUrl}' --message-body '${message}'

Publish without it, through the API:
  curl -X POST '${apiUrl}/v2/queues/${queue}/messages' ${json} -d '${posted}'
`;
};
