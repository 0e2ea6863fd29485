import { describe, expect, it } from 'vitest';
import { resourcesOf, templatesFor } from './templates.ts';

const routesWith = (settings: Record<string, unknown>) =>
  [...resourcesOf(templatesFor(settings).pipeline, 'AWS::ApiGatewayV2::Route').values()].map(
    ({ Properties }) => ({ key: Properties['RouteKey'], authorization: Properties['AuthorizationType'] }),
  );

const CONFIRM = '/v2/queues/{queue}/subscriptions/{subscription}/confirm';

/** Whether we are there, and a confirmation's link: nobody else gets in without proving who they are. */
const OPEN = ['GET /v2/ping', `GET ${CONFIRM}`, `POST ${CONFIRM}`].map((key) => ({
  key,
  authorization: 'NONE',
}));

describe('the API', () => {
  it('asks for IAM signatures unless told otherwise', () => {
    expect(routesWith({})).toEqual([{ key: '$default', authorization: 'AWS_IAM' }, ...OPEN]);
  });

  it('asks nobody on a laptop that says so', () => {
    const settings = { local: true, apiAuthorization: 'none' };
    expect(routesWith(settings)).toEqual([{ key: '$default', authorization: 'NONE' }, ...OPEN]);
  });

  it('asks for tokens of the issuer and audience that were set', () => {
    const settings = {
      apiAuthorization: 'jwt',
      jwtIssuer: 'https://id.example.com',
      jwtAudience: ['posthaste'],
    };
    expect(routesWith(settings)).toEqual([{ key: '$default', authorization: 'JWT' }, ...OPEN]);
    templatesFor(settings).pipeline.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: 'https://id.example.com', Audience: ['posthaste'] },
    });
  });
});
