import {
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  type IHttpRouteAuthorizer,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Construct } from 'constructs';
import { openRoutes } from '../../shared/config/open-routes.ts';
import type { ApiAuthorization, DeploymentSettings } from '../settings.ts';
import type { ApiFunction } from './api-function.ts';

export interface AdministrationApiProps {
  readonly settings: DeploymentSettings;
  readonly handler: ApiFunction;
}

/** The HTTP API in front of the api function. Its callers are authorised, all in the same way, but for two routes. */
export class AdministrationApi extends Construct {
  readonly url: string;
  readonly apiId: string;

  constructor(scope: Construct, id: string, { settings, handler }: AdministrationApiProps) {
    super(scope, id);
    const integration = new HttpLambdaIntegration('Handler', handler.lambda);
    const api = new HttpApi(this, 'HttpApi', {
      description: 'Posthaste: administration',
      defaultIntegration: integration,
      defaultAuthorizer: authorizerOf(settings.apiAuthorization),
    });
    for (const { path, methods } of openRoutes) {
      api.addRoutes({
        path,
        methods: methods.map((method) => HttpMethod[method]),
        integration,
        authorizer: new HttpNoneAuthorizer(),
      });
    }
    this.url = api.apiEndpoint;
    this.apiId = api.apiId;
  }
}

const authorizerOf = (authorization: ApiAuthorization): IHttpRouteAuthorizer => {
  switch (authorization.kind) {
    case 'iam':
      return new HttpIamAuthorizer();
    case 'jwt':
      return new HttpJwtAuthorizer('Jwt', authorization.issuer, { jwtAudience: [...authorization.audience] });
    case 'none':
      return new HttpNoneAuthorizer();
  }
};
