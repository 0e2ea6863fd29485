import { seededChance, type Chance } from '../support/chance.ts';
import { MINUTE, SECOND, type PlannedRefusals, type Scenario } from './scenario.ts';

/** Another sequence than that of the rest of the scenario. */
const SEED_OFFSET = 1_000_003;

/** Some subscribers throttle or are down for a while, a half of them from before the start. */
export const withRefusals = (scenario: Scenario): Scenario => {
  const chance = seededChance(scenario.seed + SEED_OFFSET);
  const settings = {
    ...scenario.settings,
    adaptToThrottling: chance.happens(0.8),
    holdWhileDown: chance.happens(0.8),
    retryThrottled: chance.happens(0.2),
  };
  const subscriptions = scenario.subscriptions.map((one) =>
    chance.happens(0.15) && one.pull !== true
      ? {
          ...one,
          answers: { ...one.answers, refuses: generateRefusals(chance, scenario.calmAt) },
          ...(chance.happens(0.5) && { pressed: chance.pick(['slowed', 'held'] as const) }),
        }
      : one,
  );
  return { ...scenario, settings, subscriptions };
};

export const generateRefusals = (chance: Chance, calmAt: number): PlannedRefusals =>
  chance.happens(0.5) ? generateThrottling(chance) : { outages: [generateOutage(chance, calmAt)] };

const generateThrottling = (chance: Chance): PlannedRefusals => {
  const perSecond = chance.pick([0, 1, 5]);
  return chance.happens(0.2)
    ? { perSecond }
    : { perSecond, retryAfter: chance.pick(['2', '20', '9999999999', 'soon']) };
};

const generateOutage = (chance: Chance, calmAt: number) => {
  const from = chance.int(0, calmAt / 4);
  return {
    from,
    to: from + chance.pick([10 * SECOND, MINUTE, 10 * MINUTE]),
    answer: {
      takesMs: chance.pick([20, 20, 3_000]),
      response: chance.pick([
        { status: 503 },
        { status: 502 },
        { fault: 'timeout' as const },
        { fault: 'connection_refused' as const },
      ]),
    },
  };
};
