import { commandText } from '../../../local/command-name.ts';
import type { Endpoints } from '../../../local/endpoints.ts';
import { demoQueue } from './demo/scenario.ts';

/** The port of the receiver at `/hook`. `listen` has 8080 in its examples. */
const RECEIVER_PORT = 9000;

/** `consoleUrl`: undefined without a console. */
type HintOptions = { apiAuthorization: string; consoleUrl: string | undefined };

/** Example commands to paste into a shell. Single quotes, because the API's URL contains a `$`. */
export function hints(endpoints: Endpoints, { apiAuthorization, consoleUrl }: HintOptions): string {
  const { endpoint, region, apiUrl, ingressQueueUrl } = endpoints;
  const keys = keyVariables(endpoints);
  const message = JSON.stringify({ queue: demoQueue, type: 'order.created', data: { order: 1002 } });
  const posted = JSON.stringify({ messages: [{ type: 'order.created', body: { order: 1002 } }] });
  const subscription = JSON.stringify({ subscriber: `http://127.0.0.1:${RECEIVER_PORT}/hook` });
  const json = `-H 'content-type: application/json'`;
  return `${running(consoleUrl)}

To try it, paste these commands into another terminal.
${signing(apiAuthorization)}
Set the variables of the README, and the keys of this run:
  ${variables(endpoints)}

Receive webhooks (in a separate terminal):
  ${receiverCommand(RECEIVER_PORT)}

Subscribe that receiver:
  curl '${apiUrl}/v2/queues/${demoQueue}/subscriptions' ${json} -d '${subscription}'

Publish with the AWS CLI:
  ${keys} aws sqs send-message --endpoint-url '${endpoint}' --region ${region} --queue-url '${ingressQueueUrl}' --message-body '${message}'

Publish through the API:
  curl '${apiUrl}/v2/queues/${demoQueue}/messages' ${json} -d '${posted}'
`;
}

/** The same for an app of the user, whose API may refuse unsigned calls: the command signs them. */
export function appHints(endpoints: Endpoints, consoleUrl: string | undefined): string {
  return `${running(consoleUrl)}

To try it, paste these commands into another terminal.

Receive webhooks of a queue:
  ${commandText('listen --port 8080 --subscribe orders')}

Publish (in a third terminal):
  ${commandText(`publish orders --type order.created --data '{"order": 1002}'`)}

Set the addresses and keys of this run, for your programs:
  ${variables(endpoints)}
`;
}

function running(consoleUrl: string | undefined): string {
  return `Posthaste is running.${consoleUrl === undefined ? '' : ` Console: ${consoleUrl}`}`;
}

function variables(endpoints: Endpoints): string {
  const { apiUrl, ingressQueueUrl, endpoint, region } = endpoints;
  return `export API_URL='${apiUrl}' INGRESS_QUEUE_URL='${ingressQueueUrl}' ENDPOINT='${endpoint}' AWS_ENDPOINT_URL='${endpoint}' AWS_REGION=${region} AWS_DEFAULT_REGION=${region} ${keyVariables(endpoints)}`;
}

function keyVariables({ accessKeyId, secretAccessKey }: Endpoints): string {
  return `AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}`;
}

function signing(apiAuthorization: string): string {
  return apiAuthorization === 'none'
    ? ''
    : `The API refuses unsigned calls (apiAuthorization=${apiAuthorization}): docs/api.md shows how to authorise curl.\n`;
}

/** A shell command that starts a server on loopback which prints each request and answers 200. Needs only Node. */
export function receiverCommand(port: number): string {
  const show = 'console.log(q.method,q.url,b);a.end()';
  const answer = `(q,a)=>{let b="";q.on("data",d=>b+=d).on("end",()=>{${show}})}`;
  const ready = `()=>console.log("Waiting for webhooks on port ${port}")`;
  return `node -e 'require("http").createServer(${answer}).listen(${port},"127.0.0.1",${ready})'`;
}
