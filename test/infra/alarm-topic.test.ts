import { describe, expect, it } from 'vitest';
import { createStacks } from '../../infra/deployment.ts';
import { SettingsError } from '../../infra/settings.ts';
import { alarmsIn } from '../support/monitored.ts';
import { resourcesOf, statementsIn, templatesFor, testApp } from './templates.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:on-call';
const CUSTOM = 'Custom::AlarmTopicLookUp';
const { monitoring } = templatesFor({ alarmTopicArn: TOPIC });

describe('a topic for alarms', () => {
  it('is notified by all alarms except components of composite ones, when they are raised and when they are over', () => {
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

  it('is looked up by the deployment before it creates alarms, so that a missing topic fails it', () => {
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
    const notifying = composed.filter((alarm) => JSON.stringify(alarm).includes('AlarmActions'));
    expect(notifying).toHaveLength(34);
    for (const alarm of notifying) expect(alarm['DependsOn']).toContain(id);
  });

  it('is looked up by a function that has no other permission', () => {
    const [policy, ...others] = resourcesOf(monitoring, 'AWS::IAM::Policy').values();
    expect(others).toEqual([]);
    expect(policy && statementsIn(policy)).toEqual([
      { effect: 'Allow', actions: ['sns:GetTopicAttributes'], resources: [TOPIC], condition: undefined },
    ]);
  });

  it('is optional: without it there is no function and no alarm action', () => {
    const { monitoring: without } = templatesFor();
    expect(resourcesOf(without, 'AWS::Lambda::Function').size).toBe(0);
    expect(resourcesOf(without, CUSTOM).size).toBe(0);
    expect(alarmsIn(without.toJSON()['Resources']).flatMap(({ actions }) => actions)).toEqual([]);
  });

  it.each([
    { what: 'region', env: { account: '123456789012', region: 'us-east-1' } },
    { what: 'account', env: { account: '210987654321', region: 'eu-west-1' } },
  ])('is refused if it is in another $what', ({ what, env }) => {
    const settings = { alarmTopicArn: TOPIC };
    const place = () => createStacks(testApp(), settings, env);
    expect(place).toThrow(SettingsError);
    expect(place).toThrow(`alarmTopicArn (the property alarmTopic) must be in the ${what} of the deployment`);
  });

  it('is accepted if it is in the same region and account', () => {
    const settings = { alarmTopicArn: TOPIC };
    const env = { account: '123456789012', region: 'eu-west-1' };
    expect(() => createStacks(testApp(), settings, env)).not.toThrow();
  });
});
