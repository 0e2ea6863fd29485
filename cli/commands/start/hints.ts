import { commandText } from '../../../local/command-name.ts';
import type { Endpoints } from '../../../local/endpoints.ts';

/** Commands to paste into a shell, which sign their requests where the API asks for it. `consoleUrl`: undefined without a console. */
export function hints(endpoints: Endpoints, consoleUrl: string | undefined): string {
  return `Posthaste is running.${consoleUrl === undefined ? '' : ` Console: ${consoleUrl}`}

To try it, paste these commands into another terminal.

Receive webhooks of a queue:
  ${commandText('listen --port 8080 --subscribe orders')}

Publish (in a third terminal):
  ${commandText(`publish orders --type order.created --data '{"order": 1002}'`)}

Set the addresses and keys of this run, for curl, the AWS CLI and your programs:
  ${variables(endpoints)}
`;
}

/** Single quotes, because the API's URL contains a `$`. */
function variables({
  apiUrl,
  ingressQueueUrl,
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
}: Endpoints): string {
  return `export API_URL='${apiUrl}' INGRESS_QUEUE_URL='${ingressQueueUrl}' ENDPOINT='${endpoint}' AWS_ENDPOINT_URL='${endpoint}' AWS_REGION=${region} AWS_DEFAULT_REGION=${region} AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}`;
}
