import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';

/** A request to an API of API Gateway, as fetch takes it. */
export type ApiCall = {
  method: string;
  url: string;
  headers: Headers;
  body?: string | Uint8Array<ArrayBuffer>;
};

export type Credentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};

export type Identity = { region: string; credentials: () => Promise<Credentials> };

/** Returns a function that gives the headers of a call with a signature. It throws what `credentials` throws. */
export function signedHeaders({ region, credentials }: Identity): (call: ApiCall) => Promise<Headers> {
  const signer = new SignatureV4({
    service: 'execute-api',
    region,
    credentials,
    sha256: Sha256,
    applyChecksum: false,
  });
  return async (call) => {
    const { headers } = await signer.sign(toHttpRequest(call));
    const signed = new Headers(headers);
    // fetch sets it.
    signed.delete('host');
    return signed;
  };
}

/** The call in the signer's form. */
function toHttpRequest({ method, url, headers, body }: ApiCall): HttpRequest {
  const { protocol, hostname, port, host, pathname, searchParams } = new URL(url);
  return new HttpRequest({
    method,
    protocol,
    hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    path: pathname,
    query: Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)])),
    headers: { ...Object.fromEntries(headers), host },
    body,
  });
}
