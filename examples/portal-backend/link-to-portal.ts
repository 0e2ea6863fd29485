import { PortalLinks } from 'posthaste/portal';

// Once for each instance. Its role needs execute-api:Invoke for POST /v2/queues/*/portal-links (grantAdminister).
const links = new PortalLinks({ apiUrl: process.env['API_URL'] ?? '' });

/** Returns the address to which the backend redirects a customer that is logged in. `sessionId`: to end it at the logout. */
export async function linkToPortal(customer: string, sessionId: string): Promise<string> {
  return (await links.create(customer, { capabilities: ['manage', 'secrets', 'test'], sessionId })).url;
}
