import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import {
  getSubscription,
  listQueues,
  listSubscriptions,
  patchQueue,
  updateSubscription,
} from '../../../../api-client/operations.ts';
import { findQueue } from '../../../../api-client/queues.ts';
import { ApiRefusal } from '../../../../api-client/refusal.ts';
import {
  DEFAULT_RETRY_POLICY,
  isPresetName,
  type PartialRetryPolicy,
  RETRY_POLICY_PRESETS,
  type RetryPolicy,
} from '../../../../shared/domain/retry/policy.ts';
import { type Retry, retrySchedule, totalSeconds } from '../../../../shared/domain/retry/schedule.ts';
import { POLICY_PRESETS, type PresetName } from '../../../../shared/domain/retry/vocabulary.ts';
import type { Faults } from '../../api/failure-words.ts';
import type { ApiClient } from '../../../../api-client/api-client.ts';
import { useConsole } from '../../live/console-context.tsx';
import { type Action, useAction } from '../../live/hooks.ts';
import { useLive, useLiveItems } from '../../live/use-live.ts';
import { scheduleText } from '../../parts/facts.tsx';
import { BarSelect, Field, SelectField } from '../../parts/fields.tsx';
import { Button, Form } from '../../parts/form.tsx';
import { Failure, Notice } from '../../parts/loaded.tsx';
import { PageHeading, Section } from '../../parts/page-heading.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { subscriberText } from '../../parts/subscription-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { durationText } from '../../parts/time-text.ts';
import type { Query } from '../../route.ts';
import { queuePolicy } from '../queue/edit-queue.tsx';
import {
  type Draft,
  toDraft,
  EMPTY_DRAFT,
  indexFaults,
  findPreset,
  SNS_EXAMPLE,
  validateDraft,
  type Validation,
  PolicyControls,
} from './policy-controls.tsx';
import { runningTotal, ScheduleCharts } from './schedule-charts.tsx';

const NO_FAULTS: Faults = new Map();

/** Edits the fields of a policy, at first those of the owner in the address, and shows the resulting schedule. */
export function DesignerPage({ query: { queue = '', subscription } }: { query: Query }) {
  const { api } = useConsole();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [refused, refuse] = useState(NO_FAULTS);
  const validation = useMemo(() => validateDraft(draft), [draft]);
  const faults = validation.ok ? refused : validation.faults;
  const fault = faults.get('_retry_policy');
  // The policy to draw: the last valid one.
  const drawn = useRef<RetryPolicy>(DEFAULT_RETRY_POLICY);
  if (validation.ok) drawn.current = validation.complete;
  const wasChanged = useRef(false);
  const change = (next: Draft): void => {
    wasChanged.current = true;
    refuse(NO_FAULTS);
    setDraft(next);
  };
  const { action, run } = useAction(async () => {
    const policy = await storedPolicy(api, { queue, subscription });
    if (policy !== undefined && !wasChanged.current) setDraft(toDraft(policy));
  });
  // The page is mounted anew for another owner.
  useEffect(() => {
    if (queue !== '') run();
  }, []);
  return (
    <>
      <PageHeading title="Policy designer">
        <PresetChoice
          chosen={validation.ok ? findPreset(validation.complete) : undefined}
          onChoose={change}
        />
        {STARTS.map(([text, start]) => (
          <Button key={text} onClick={() => change(start)}>
            {text}
          </Button>
        ))}
      </PageHeading>
      <LoadFailure of={action} onAgain={run} />
      <PolicyControls
        draft={draft}
        faults={faults}
        onChange={(field, text) => change({ ...draft, [field]: text })}
      />
      {fault === undefined ? null : <Notice tone="danger" title={`The policy ${fault}`} />}
      <Section title="Schedule">
        <ScheduleSum policy={drawn.current} stale={!validation.ok} />
        <ScheduleCharts policy={drawn.current} />
        <ScheduleTable policy={drawn.current} />
      </Section>
      <div class="columns">
        <Section title="JSON">
          <p class="muted">For the metadata of a queue or the options of a subscription.</p>
          <SourceText text={formatPolicy(validation)} what="the policy" />
        </Section>
        <Section title="Apply the policy">
          <ApplySection
            isLoaded={queue === '' || action.state === 'done'}
            {...{ validation, requested: { queue, subscription }, onRefused: refuse }}
          />
        </Section>
      </div>
    </>
  );
}

const STARTS = [
  ['Example: 10 retries, 5 to 260 s', SNS_EXAMPLE],
  ['Reset to the defaults', EMPTY_DRAFT],
] as const;

function formatPolicy(validation: Validation): string {
  return validation.ok ? JSON.stringify({ _retry_policy: validation.policy }, null, 2) : '–';
}

function PresetChoice({
  chosen,
  onChoose,
}: {
  chosen: PresetName | undefined;
  onChoose: (preset: Draft) => void;
}) {
  return (
    <BarSelect
      label="Preset"
      value={chosen ?? ''}
      onValue={(name) => {
        if (isPresetName(name)) onChoose(toDraft(RETRY_POLICY_PRESETS[name]));
      }}
      options={[
        ...(chosen === undefined ? [['', 'Preset: none'] as const] : []),
        ...POLICY_PRESETS.map((name) => [name, `Preset: ${name}`] as const),
      ]}
    />
  );
}

/** How many requests a delivery makes at most, and over which time. `stale`: the controls contain an error. */
function ScheduleSum({ policy, stale }: { policy: RetryPolicy; stale: boolean }) {
  const retries = retrySchedule(policy).length;
  const advice = adviceOn(policy);
  return (
    <>
      <p class={stale ? 'sum sum-stale' : 'sum'} aria-live="polite">
        <span>
          <strong data-sum="requests">{retries + 1}</strong> {retries === 0 ? 'request' : 'requests'}
        </span>{' '}
        <span>
          over <strong data-sum="time">{durationText(totalSeconds(policy) * 1000)}</strong>
        </span>
        {policy.jitter === 'none' ? null : (
          <span class="muted"> at most: jitter ({policy.jitter}) makes delays shorter</span>
        )}
        {stale ? <span class="muted"> before the last change, which has errors</span> : null}
      </p>
      {advice === undefined ? null : <p class="muted">{advice}</p>}
    </>
  );
}

/** A policy shorter than this does not outlast usual outages. */
const PATIENT_SECONDS = 3600;

/** Names a preset to choose in place of a policy that gives up soon. */
export function adviceOn(policy: RetryPolicy): string | undefined {
  if (totalSeconds(policy) >= PATIENT_SECONDS) return undefined;
  const patient = scheduleText(RETRY_POLICY_PRESETS.patient);
  return `Deliveries to a subscriber that is down for longer end as exhausted. The preset patient makes ${patient}: choose it above, or with --policy patient.`;
}

type Row = Retry & { totalSeconds: number };

/** The schedule as a table. */
function ScheduleTable({ policy }: { policy: RetryPolicy }) {
  const retries = retrySchedule(policy);
  const totals = runningTotal(retries.map(({ delaySeconds }) => delaySeconds));
  return (
    <details>
      <summary>Schedule as a table</summary>
      <Table
        caption="Retries, their delays, and the time since the first attempt"
        columns={COLUMNS}
        rows={retries.map((retry, index): Row => ({ ...retry, totalSeconds: totals[index] ?? 0 }))}
        keyOf={({ retry }) => String(retry)}
      />
    </details>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { head: 'Retry', numeric: true, cell: ({ retry }) => retry },
  { head: 'Phase', wide: true, cell: ({ phase }) => phase.replace('_', ' ') },
  { head: 'Delay', numeric: true, cell: ({ delaySeconds }) => durationText(delaySeconds * 1000) },
  {
    head: 'Since the first attempt',
    numeric: true,
    cell: ({ totalSeconds }) => durationText(totalSeconds * 1000),
  },
];

function LoadFailure({ of, onAgain }: { of: Action<unknown>; onAgain: () => void }) {
  if (of.state !== 'failed') return null;
  return (
    <div class="stack">
      <Failure of={of.failure} />
      <p>
        <Button onClick={onAgain}>Load the stored policy again</Button>
      </p>
    </div>
  );
}

type Applied = { validation: Validation; requested: PolicyOwner; onRefused: (faults: Faults) => void };

/** `isLoaded`: the stored policy was shown, so that a user knows what another one replaces. */
function ApplySection({ isLoaded, ...applied }: Applied & { isLoaded: boolean }) {
  const { info } = useConsole();
  if (info?.deployment === null)
    return (
      <p class="muted">
        There is no deployment to apply the policy to. The rest of this page works without one.
      </p>
    );
  if (!isLoaded) return <p class="muted">The stored policy is not loaded, so it cannot be replaced yet.</p>;
  return <ApplyPolicy {...applied} />;
}

const MOST = 100;

/** Stores a policy on a queue or a subscription, at first the `requested` one. `onRefused` gets the errors of the API. */
function ApplyPolicy({ validation, requested, onRefused }: Applied) {
  const { api } = useConsole();
  const names = useId();
  const [owner, setOwner] = useState(requested);
  const { queue, subscription } = owner;
  const [chosenQueue, setChosenQueue] = useState(queue);
  const queues = useLiveItems(listQueues, { query: { detailed: true }, most: MOST });
  const subscriptions = useLive(`designer/subscriptions/${chosenQueue}`, async () =>
    chosenQueue === ''
      ? undefined
      : api.items(listSubscriptions, { path: { queue: chosenQueue }, most: MOST }),
  );
  const { action, run } = useAction(async (given: PartialRetryPolicy) => {
    try {
      await storePolicy(api, owner, given);
    } catch (error) {
      if (error instanceof ApiRefusal) onRefused(indexFaults(error.fields));
      throw error;
    }
  });
  return (
    <Form
      action={action}
      verb="Apply"
      onSubmit={() => {
        if (validation.ok) run(validation.policy);
      }}
      result={
        <>
          {validation.ok ? null : <p class="muted">Fix the errors above first.</p>}
          {action.state === 'done' ? (
            <Notice tone="success" title="Policy applied">
              <p>
                It applies to deliveries that first fail from now on. Deliveries that are being retried keep
                their policy.
              </p>
            </Notice>
          ) : null}
        </>
      }
    >
      <Field label="Queue">
        {(parts) => (
          <>
            <input
              {...parts}
              required
              list={names}
              value={queue}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) =>
                setOwner({ queue: currentTarget.value, subscription: undefined })
              }
              onChange={({ currentTarget }) => setChosenQueue(currentTarget.value)}
            />
            <datalist id={names}>
              {(queues.value?.items ?? []).map(({ name }) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <SelectField
        label="Subscription"
        hint="Choose one to set its policy instead of the queue’s."
        value={subscription ?? ''}
        onValue={(id) => setOwner({ queue, subscription: id === '' ? undefined : id })}
        options={[
          ['', 'none: set the queue’s policy'],
          ...(subscriptions.value?.items ?? []).map((one) => [one.id, subscriberText(one)] as const),
        ]}
      />
    </Form>
  );
}

/** The owner of a policy: a queue, or a subscription on it. */
type PolicyOwner = { queue: string; subscription: string | undefined };

/** The stored policy; undefined where there is none, or where the queue does not exist. */
async function storedPolicy(
  api: ApiClient,
  { queue, subscription }: PolicyOwner,
): Promise<PartialRetryPolicy | undefined> {
  if (subscription !== undefined)
    return (await api.call(getSubscription, { path: { queue, subscription } })).options._retry_policy;
  return queuePolicy(await findQueue(api, queue));
}

/** Stores a policy. The API replaces all options of a subscription, so this reads them first; redacted ones stay. */
async function storePolicy(
  api: ApiClient,
  { queue, subscription }: PolicyOwner,
  policy: PartialRetryPolicy,
): Promise<void> {
  if (subscription === undefined) {
    const patch = [{ op: 'add', path: '/metadata/_retry_policy', value: policy }];
    await api.call(patchQueue, { path: { queue }, body: JSON.stringify(patch) });
    return;
  }
  const { options } = await api.call(getSubscription, { path: { queue, subscription } });
  await api.call(updateSubscription, {
    path: { queue, subscription },
    body: JSON.stringify({ options: { ...options, _retry_policy: policy } }),
  });
}
