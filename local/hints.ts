import type { Endpoints } from './endpoints.ts';

/** The port of the receiver in the examples, here and in the README. */
const RECEIVER_PORT = 8080;

export type HintOptions = {
  /** Of the examples. */
  queue: string;
  apiAuthorization: string;
  /** Undefined: there is none. */
  consoleUrl: string | undefined;
};

/** What to do with a system that is up, ready to paste into a shell. Single quotes: the API's URL holds a `$`. */
export function hints(endpoints: Endpoints, { queue, apiAuthorization, consoleUrl }: HintOptions): string {
  const { endpoint, region, apiUrl, ingressQueueUrl, accessKeyId, secretAccessKey } = endpoints;
  const keys = `AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}`;
  const message = JSON.stringify({ queue, type: 'order.created', data: { order: 1002 } });
  const posted = JSON.stringify({ messages: [{ type: 'order.created', body: { order: 1002 } }] });
  const subscription = JSON.stringify({ subscriber: `http://127.0.0.1:${RECEIVER_PORT}/hook` });
  const json = `-H 'content-type: application/json'`;
  return `Posthaste is up.${consoleUrl === undefined ? '' : ` Its console: ${consoleUrl}`}

Paste these into another terminal.
${signing(apiAuthorization)}
What the README calls them, and the keys of this start:
  export API_URL='${apiUrl}' INGRESS_QUEUE_URL='${ingressQueueUrl}' ENDPOINT='${endpoint}' ${keys}

Receive webhooks, in a terminal of its own:
  ${receiverCommand(RECEIVER_PORT)}

Subscribe that receiver:
  curl '${apiUrl}/v2/queues/${queue}/subscriptions' ${json} -d '${subscription}'

Publish with the AWS command line:
  ${keys} aws sqs send-message --endpoint-url '${endpoint}' --region ${region} --queue-url '${ingressQueueUrl}' --message-body '${message}'

Publish without it, through the API:
  curl '${apiUrl}/v2/queues/${queue}/messages' ${json} -d '${posted}'
`;
}

function signing(apiAuthorization: string): string {
  return apiAuthorization === 'none'
    ? ''
    : `The API takes no unsigned calls (apiAuthorization=${apiAuthorization}): docs/api.md says what to add to curl.\n`;
}

/** One line for a shell: a server on loopback that shows each request, and answers 200. Node is there, since we run on it. */
export function receiverCommand(port: number): string {
  const show = 'console.log(q.method,q.url,b);a.end()';
  const answer = `(q,a)=>{let b="";q.on("data",d=>b+=d).on("end",()=>{${show}})}`;
  const ready = `()=>console.log("Waiting for webhooks on port ${port}")`;
  return `node -e 'require("http").createServer(${answer}).listen(${port},"127.0.0.1",${ready})'`;
}
