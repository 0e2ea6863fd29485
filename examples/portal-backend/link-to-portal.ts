import { AwsClient } from 'aws4fetch';

const { API_URL, AWS_REGION = '', AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
const { AWS_SESSION_TOKEN: sessionToken = '' } = process.env;

// The role of the backend needs execute-api:Invoke for POST /v2/queues/*/portal-links (grantAdminister).
const api = new AwsClient({
  service: 'execute-api',
  region: AWS_REGION,
  accessKeyId: AWS_ACCESS_KEY_ID,
  secretAccessKey: AWS_SECRET_ACCESS_KEY,
  ...(sessionToken !== '' && { sessionToken }),
});

/** Returns the address to which the backend redirects a customer that is logged in. `sessionId`: to end it at the logout. */
export async function linkToPortal(customer: string, sessionId: string): Promise<string> {
  const body = JSON.stringify({ capabilities: ['manage', 'secrets', 'test'], session_id: sessionId });
  const response = await api.fetch(`${API_URL}/v2/queues/${customer}/portal-links`, { method: 'POST', body });
  if (!response.ok) throw new Error(`There is no link to the portal: ${response.status}`);
  return ((await response.json()) as { url: string }).url;
}
