import { useState } from 'preact/hooks';
import {
  pauseQueue,
  pauseSubscription,
  resumeQueue,
  resumeSubscription,
  type Stopped,
} from '../../../api-client/operations.ts';
import { requestsEndText } from '../../../api-client/words.ts';
import { DEFAULT_RESUME_PER_SECOND } from '../../../shared/domain/subscription/pause.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { usePage } from '../live/page-context.tsx';
import { useAction } from '../live/hooks.ts';
import { Dialog, DialogButton } from './dialog.tsx';
import { NumberField, numberIn, SelectField } from './fields.tsx';
import { CloseButton, Form, useClose } from './form.tsx';
import { Notice } from './loaded.tsx';
import { TimeField } from './windows.tsx';

type PauseButtonsProps = {
  queue: string;
  subscription?: string;
  name: string;
  isPaused: boolean;
  onDone: () => void;
};

/** The buttons that pause a queue or one of its subscriptions, and resume it. `name`: what gets no requests. */
export function PauseButtons({ queue, subscription, name, isPaused, onDone }: PauseButtonsProps) {
  const { api } = usePage();
  const [stopped, setStopped] = useState<Stopped>();
  const pause = async (body: PauseBody): Promise<void> => {
    setStopped(
      await (subscription === undefined
        ? api.call(pauseQueue, { path: { queue }, body })
        : api.call(pauseSubscription, { path: { queue, subscription }, body })),
    );
    onDone();
  };
  const resume = async (body: ResumeBody): Promise<void> => {
    await (subscription === undefined
      ? api.call(resumeQueue, { path: { queue }, body })
      : api.call(resumeSubscription, { path: { queue, subscription }, body }));
    onDone();
  };
  return (
    <>
      <DialogButton text={isPaused ? 'Change pause' : 'Pause'}>
        <PauseForm name={name} pause={pause} />
      </DialogButton>
      {isPaused ? (
        <DialogButton text="Resume" kind="primary">
          <ResumeForm resume={resume} />
        </DialogButton>
      ) : null}
      <StoppedDialog title="Paused" stopped={stopped} setStopped={setStopped} />
    </>
  );
}

type PauseBody = { for_seconds?: number; until?: string };
type ResumeBody = { per_second?: number };

const ENDS = [
  ['hour', 'for 1 hour'],
  ['time', 'until a time'],
  ['resumed', 'until it is resumed'],
] as const;

const HOUR_MS = 3_600_000;

function PauseForm({ name, pause }: { name: string; pause: (body: PauseBody) => Promise<void> }) {
  const close = useClose();
  const [end, setEnd] = useState<string>(ENDS[0][0]);
  const [until, setUntil] = useState<number | undefined>(() => Date.now() + HOUR_MS);
  const isUntil = end === 'time';
  const { action, run } = useAction(async () => {
    const at = isUntil && until !== undefined ? { until: timeText(until) } : {};
    await pause(end === 'hour' ? { for_seconds: HOUR_MS / 1000 } : at);
    close();
  });
  return (
    <Form action={action} ready={!isUntil || until !== undefined} verb="Pause" kind="danger" onSubmit={run}>
      <p>
        <span class="url">{name}</span> gets no requests. New messages and due retries wait, which uses none
        of their attempts, and are sent after the pause.
      </p>
      <p>Messages still expire while they wait.</p>
      <SelectField label="How long" value={end} onValue={setEnd} options={ENDS} />
      {isUntil ? <TimeField label="Resume at" required time={until} onTime={setUntil} /> : null}
    </Form>
  );
}

function ResumeForm({ resume }: { resume: (body: ResumeBody) => Promise<void> }) {
  const close = useClose();
  const [rate, setRate] = useState('');
  const { action, run } = useAction(async () => {
    const perSecond = numberIn(rate);
    await resume(typeof perSecond === 'number' ? { per_second: perSecond } : {});
    close();
  });
  const isWrong = typeof numberIn(rate) === 'string';
  return (
    <Form action={action} ready={!isWrong} verb="Resume" onSubmit={run}>
      <p>What waits is sent in the order of acceptance.</p>
      <NumberField
        label="Requests per second"
        hint={`Optional. By default the highest rate that is set, or else ${DEFAULT_RESUME_PER_SECOND}.`}
        fault={isWrong ? 'This is not a number.' : undefined}
        value={rate}
        onValue={setRate}
      />
    </Form>
  );
}

type StoppedDialogProps = {
  title: string;
  stopped: Stopped | undefined;
  setStopped: (none: undefined) => void;
};

/** Says how long requests can still go out after a stop. `stopped`: undefined to show nothing. */
export function StoppedDialog({ title, stopped, setStopped }: StoppedDialogProps) {
  const seconds = stopped?.requests_end_within_seconds;
  if (seconds === undefined) return null;
  return (
    <Dialog title={title} onClose={() => setStopped(undefined)}>
      <div class="stack">
        <Notice tone="success" title={requestsEndText(seconds)} />
        <CloseButton kind="primary">Done</CloseButton>
      </div>
    </Dialog>
  );
}
