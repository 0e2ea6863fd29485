/**
 * Settings that deploy different resources. Tests check each variant against CloudFormation's schemas and cdk-nag's
 * rules, and check that no resource with data is replaced.
 */
export const checkedVariants: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  iam: {},
  jwt: {
    apiAuthorization: 'jwt',
    jwtIssuer: 'https://id.example.com',
    jwtAudience: 'posthaste',
    jwtScopes: { read: 'r', publish: 'p', manage: 'm', credentials: 'c' },
  },
  tracing: { tracing: true, retainMessages: 'all' },
  alarmTopic: { alarmTopicArn: 'arn:aws:sns:us-east-1:123456789012:on-call' },
  staticAddresses: { staticAddresses: 2 },
  vpc: { vpc: { vpcId: 'vpc-0123456789abcdef0', subnetIds: ['subnet-0123456789abcdef0'] } },
  externalProducers: {
    payloadSources: [{ bucket: 'producer', prefix: 'events/' }],
    ingressSenders: ['arn:aws:sns:us-east-1:123456789012:orders'],
  },
  portal: { portal: true, portalHosts: ['*.example.com'], portalFrameAncestors: ['https://app.example.com'] },
  workers: { compute: 'worker' },
  both: { compute: 'both' },
  allAtOnce: { canaryMinutes: 0 },
  // What cannot be changed later.
  fromTheStart: {
    multiRegionKey: true,
    warmWritesPerSecond: 10_000,
    staticAddresses: 1,
    zoneIds: ['use1-az1', 'use1-az2'],
  },
  local: { local: true, apiAuthorization: 'none' },
};
