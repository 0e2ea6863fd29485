/** The part of oidc-provider that tests use. The package has no types, and those beside it bring nine others. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    callback(): RequestListener;
    readonly ClientCredentials: {
      find(token: string): Promise<{ clientId: string; scope?: string } | undefined>;
    };
  }
}
