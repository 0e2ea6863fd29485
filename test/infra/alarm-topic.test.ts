import { describe, expect, it } from 'vitest';
import { placeStacks } from '../../infra/deployment.ts';
import { parseSettings, SettingsError } from '../../infra/settings.ts';
import { alarmsIn } from '../support/monitored.ts';
import { resourcesOf, statementsIn, templatesFor, testApp } from './templates.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:on-call';
const CUSTOM = 'Custom::AlarmTopicLookUp';
const { monitoring } = templatesFor({ alarmTopicArn: TOPIC });

describe('a topic for alarms', () => {
  it('is told by all that are no parts of others, and when they are over', () => {
    const alarms = alarmsIn(monitoring.toJSON()['Resources']);
    const silent = alarms.filter(({ actions }) => actions.length === 0);
    expect(silent.map(({ name }) => name).toSorted()).toEqual([
      'Posthaste-FewDelivered',
      'Posthaste-MostlyUndeliverable',
      'Posthaste-SeveralFailing',
    ]);
    for (const { actions, properties } of alarms.filter((alarm) => !silent.includes(alarm))) {
      expect(actions).toEqual([TOPIC]);
      expect(properties['OKActions']).toEqual([TOPIC]);
    }
  });

  it('is looked up at deployment, before any alarm is made: one that is not there fails it', () => {
    const [[id, { Properties }] = ['', { Properties: {} }]] = resourcesOf(monitoring, CUSTOM);
    const call = JSON.stringify({
      service: 'SNS',
      action: 'getTopicAttributes',
      parameters: { TopicArn: TOPIC },
      physicalResourceId: { id: TOPIC },
      outputPaths: ['Attributes.TopicArn'],
    });
    expect(Properties).toMatchObject({ Create: call, Update: call });
    expect(call).not.toContain('ignoreErrorCodesMatching');
    const composed = ['AWS::CloudWatch::Alarm', 'AWS::CloudWatch::CompositeAlarm'].flatMap((type) =>
      Object.values(monitoring.findResources(type)),
    );
    const told = composed.filter((alarm) => JSON.stringify(alarm).includes('AlarmActions'));
    expect(told).toHaveLength(32);
    for (const alarm of told) expect(alarm['DependsOn']).toContain(id);
  });

  it('is looked up by a function that may do that and nothing else', () => {
    const [policy, ...others] = resourcesOf(monitoring, 'AWS::IAM::Policy').values();
    expect(others).toEqual([]);
    expect(policy && statementsIn(policy)).toEqual([
      { effect: 'Allow', actions: ['sns:GetTopicAttributes'], resources: [TOPIC], condition: undefined },
    ]);
  });

  it('costs nothing where there is none: no function, no action', () => {
    const { monitoring: without } = templatesFor();
    expect(resourcesOf(without, 'AWS::Lambda::Function').size).toBe(0);
    expect(resourcesOf(without, CUSTOM).size).toBe(0);
    expect(alarmsIn(without.toJSON()['Resources']).flatMap(({ actions }) => actions)).toEqual([]);
  });

  it.each([
    { what: 'region', env: { account: '123456789012', region: 'us-east-1' } },
    { what: 'account', env: { account: '210987654321', region: 'eu-west-1' } },
  ])('of another $what is refused, by its setting', ({ what, env }) => {
    const settings = parseSettings({ alarmTopicArn: TOPIC });
    const place = () => placeStacks(testApp(), settings, env);
    expect(place).toThrow(SettingsError);
    expect(place).toThrow(`alarmTopicArn must be in the ${what} of the deployment`);
  });

  it('of the same region and account is taken', () => {
    const settings = parseSettings({ alarmTopicArn: TOPIC });
    const env = { account: '123456789012', region: 'eu-west-1' };
    expect(() => placeStacks(testApp(), settings, env)).not.toThrow();
  });
});
