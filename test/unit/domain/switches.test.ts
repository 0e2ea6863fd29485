import { expect, it } from 'vitest';
import {
  isSwitchedOn,
  paceSwitchesOf,
  switchesOfDeployment,
} from '../../../shared/domain/subscription/switches.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { aSlowed } from '../../support/pressure.ts';

const OFF = { adaptToThrottling: false, holdWhileDown: false };
const ON = { adaptToThrottling: true, holdWhileDown: true };

type Given = { options?: object; metadata?: Record<string, unknown>; deployment: typeof OFF };

const switchesOf = ({ options = {}, metadata = {}, deployment }: Given) =>
  paceSwitchesOf({ subscription: aSubscription({ options }), queue: aQueue({ metadata }) }, deployment);

it.each([
  ['nothing is set', { deployment: OFF }, OFF],
  ['the deployment sets them', { deployment: ON }, ON],
  [
    'the queue turns one off',
    { metadata: { _hold_while_down: false }, deployment: ON },
    { ...ON, holdWhileDown: false },
  ],
  [
    'the queue turns one on',
    { metadata: { _adapt_to_throttling: true }, deployment: OFF },
    { ...OFF, adaptToThrottling: true },
  ],
  [
    'the subscription turns them off',
    {
      options: { adapt_to_throttling: false, hold_while_down: false },
      metadata: { _adapt_to_throttling: true, _hold_while_down: true },
      deployment: ON,
    },
    OFF,
  ],
  [
    'the subscription turns one on',
    { options: { hold_while_down: true }, deployment: OFF },
    { ...OFF, holdWhileDown: true },
  ],
  ['the queue has an invalid value', { metadata: { _hold_while_down: 'yes' }, deployment: ON }, ON],
])('the nearest switch wins: %s', (_, given, expected) => {
  expect(switchesOf(given)).toEqual(expected);
});

it.each([
  [{ backPressure: false }, OFF],
  [{ backPressure: true }, ON],
  [
    { backPressure: true, adaptToThrottling: false },
    { ...ON, adaptToThrottling: false },
  ],
  [
    { backPressure: false, holdWhileDown: true },
    { ...OFF, holdWhileDown: true },
  ],
])('of a deployment: a switch that is set wins over their former name, %o', (given, expected) => {
  expect(switchesOfDeployment(given)).toEqual(expected);
});

it('are those of the deployment where the queue is unknown', () => {
  const subscription = aSubscription();
  expect(paceSwitchesOf({ subscription, queue: undefined }, ON)).toEqual(ON);
});

it.each([
  [aSlowed(), true, false],
  [{ state: 'watched' }, true, true],
  [{ state: 'held' }, true, true],
  [{ state: 'ramping', line: 1 }, true, true],
] as const)('apply to what they ask for: %o', (state, adapts, holds) => {
  expect(isSwitchedOn(state, { ...OFF, adaptToThrottling: true })).toBe(adapts);
  expect(isSwitchedOn(state, { ...OFF, holdWhileDown: true })).toBe(holds);
  expect(isSwitchedOn(state, OFF)).toBe(false);
});
