import { Lazy } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { ArnPrincipal, Grant, type IRole, Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledgeWildcard } from '../findings.ts';
import { NodeFunction, type PipelineParts } from '../functions/node-function.ts';
import { API_TIMEOUT } from './api-function.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'];

/**
 * The role that the portal's function assumes for each session, with a policy for the queue and the rights of that
 * session. It can call the gate of the API and nothing else.
 */
export class PortalSessionRole extends Construct {
  readonly role: Role;
  #assumer: IRole | undefined;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.role = new Role(this, 'Role', {
      description: 'Assumed by the portal of Posthaste, for one session of a customer at a time',
      // The function exists only after the API, which knows the role.
      assumedBy: new ArnPrincipal(Lazy.string({ produce: () => this.#assumer?.roleArn })),
    });
  }

  /** Lets the role of the portal's function assume it, to call this API. */
  allow(assumer: IRole, api: HttpApi): void {
    this.#assumer = assumer;
    Grant.addToPrincipal({
      grantee: assumer,
      actions: ['sts:AssumeRole'],
      resourceArns: [this.role.roleArn],
    });
    // Each method is named, because `*` would match slashes.
    const resourceArns = METHODS.map((method) =>
      api.arnForExecuteApi(method, '/v2/portal/queues/*', '$default'),
    );
    for (const arn of resourceArns)
      acknowledgeWildcard(
        this.role,
        arn,
        'The policy of each session names its queue, and the gate of the API checks what the session may do.',
      );
    Grant.addToPrincipal({ grantee: this.role, actions: ['execute-api:Invoke'], resourceArns });
  }
}

export interface PortalFunctionProps extends PipelineParts {
  readonly session: PortalSessionRole;
  readonly api: HttpApi;
}

/** Serves the page of customers, and passes its requests on to the API. It has no table, queue or key. */
export class PortalFunction extends NodeFunction {
  constructor(scope: Construct, id: string, { session, api, ...parts }: PortalFunctionProps) {
    const { local, apiConcurrency } = parts.settings;
    super(scope, id, {
      parts,
      entry: 'portal',
      description: 'Posthaste: serves the page of customers',
      timeout: API_TIMEOUT,
      reservedConcurrency: apiConcurrency,
      resources: {
        portalRoleArn: session.role.roleArn,
        // Without the method and path.
        apiArn: api.arnForExecuteApi('GET', '/', '$default').replace(/\/GET\/$/, ''),
        apiUrl: local ? `{endpoint}/_aws/execute-api/${api.apiId}/$default` : api.apiEndpoint,
      },
    });
    session.allow(this.role, api);
  }
}
