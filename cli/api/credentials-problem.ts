import { Problem } from '../../local/install/problem.mjs';

/** Nothing can be signed: there are no credentials, or their time is over. */
export class CredentialsProblem extends Problem {
  readonly code: 'no_credentials' | 'credentials_expired';

  constructor(code: CredentialsProblem['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
