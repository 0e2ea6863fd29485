import { fileURLToPath } from 'node:url';
import { STSClient } from '@aws-sdk/client-sts';
import { signedHeaders } from '../../shared/adapters/aws/signed-headers.ts';
import { clientOptions } from '../../shared/adapters/aws/client-options.ts';
import { invocationDeadline } from '../../shared/adapters/lambda/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/log/journal.ts';
import { readPage } from '../../shared/adapters/page-files.ts';
import { EnvironmentError, readEnvironment } from '../../shared/config/environment.ts';
import { variables } from '../../shared/config/resources.ts';
import { type PortalContext, readSession } from './portal.ts';
import { createSessionCredentials } from '../../shared/adapters/sts/session-credentials.ts';

/** The page lies beside the bundle. */
const PAGE = fileURLToPath(new URL('page/', import.meta.url));

/** What the portal needs, from the environment of its function. It has no table. @throws EnvironmentError */
export async function composePortal() {
  const environment = readEnvironment('portal');
  const { portalRoleArn: roleArn, apiArn, portalFrameAncestors: frameAncestors = [] } = environment;
  if (roleArn === undefined) throw new EnvironmentError([`${variables.portalRoleArn} is missing`]);
  const deadline = invocationDeadline();
  const journal = powertoolsJournal('portal', environment);
  const apiUrl = environment.apiUrl.replace('{endpoint}', environment.awsEndpoint ?? '');
  const region = apiArn.split(':')[3] ?? '';
  const sts = new STSClient({ region, ...clientOptions('sts', { deadline, journal }) });
  const context: PortalContext = {
    page: await readPage(PAGE),
    frameAncestors,
    apiUrl,
    sign: (call, keys) => signedHeaders({ region, credentials: () => Promise.resolve(keys) })(call),
    sessions: createSessionCredentials({ sts, roleArn, apiArn }, (secret) =>
      readSession({ apiUrl, fetch }, secret),
    ),
    fetch,
    reportFault: (fault, ids) => {
      journal.fault(fault, ids);
    },
  };
  return { context, deadline, journal };
}
