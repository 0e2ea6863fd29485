import type { Api, ApiDependencies } from '../dependencies.ts';
import { openApiDocument } from './document.ts';

/** Made when it is first asked for, because a cold start should not wait for it. */
export function addOpenApiRoute(api: Api, { version }: ApiDependencies): void {
  let described: { url: string; text: string } | undefined;

  api.get('/v2/openapi.json', (context) => {
    const url = context.env.publicUrl;
    if (described?.url !== url) described = { url, text: JSON.stringify(openApiDocument({ version, url })) };
    return context.body(described.text, 200, { 'content-type': 'application/json' });
  });
}
